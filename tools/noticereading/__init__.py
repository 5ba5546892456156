"""The parts of the notice reader: layout, dates, wordings, roles of dates, and the verdict drawn from them."""
