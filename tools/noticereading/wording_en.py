"""English wordings of official notices and vendors' announcements, the particular before the general."""

from tools.noticereading.model import Role, Strength
from tools.noticereading.wording import Wording, wording

_FORCE = (
    r"(?:take (?:legal )?effect|be(?:come)? (?:effective|operative|binding)|(?:come|go|enter|be put) into (?:legal )?"
    r"(?:force|effect|operation)|(?:be )?appl(?:y|ied)|start|begin|be (?:enforced|implemented))"
)
_END = (
    r"(?:be (?:shut ?down|shut off|removed|retired|switched off|turned off|discontinued|sunset|deleted|disabled"
    r"|decommissioned|deprecated|unavailable)|shut down|stop working|retire|end|close|be going away|go away)"
)
_NOT = r"(?:not|never|neither|cannot|can't|won't|doesn't|isn't) (?:\w+ ){0,2}?"
_YEARS = (
    r"(?:taxable |plan |fiscal |calendar |model |school |award |policy |tax )*"
    r"(?:years?|periods?|returns?|contracts?|plans?|entries)"
)
_FROM = r"(?:(?:as )?from|as of|starting|on and after|since)"
_RULE = r"(?:rule|regulation|order|notice|document|directive|policy|AD)s?"
_MUST = (
    r"(?:must|should|need to|have to|required to|please|recommend\w*|encourage\w*|advise\w*|urge\w*"
    r"|asked? (?:\w+ )?to)"
)
_ACT = (
    r"(?:migrate|upgrade|update|move|switch|install|meet|report|complete|finish|act|stop using|replace|register|renew"
    r"|be in place|have|follow|adopt|apply|convert|export|download|rotate|back up|transition|test|plan)"
)

ENGLISH: list[Wording] = [
    wording(
        Role.NEUTRAL, Strength.HINT, 0, r"(?:after|having|following|weighing|light of) (?:\w+ ){0,4}?comments?(?= \w)"
    ),
    wording(Role.EFFECTIVE, Strength.FORCE, 60, _NOT + _FORCE + r"[^.;,]{0,40}?\b(?:until|till)"),
    wording(Role.HYPOTHETICAL, Strength.FORCE, 60, _NOT + f"(?:{_FORCE}|{_END})" + r"[^.;,]{0,40}?\bbefore"),
    wording(Role.NEGATED, Strength.FORCE, 70, _NOT + f"(?:{_FORCE}|{_END})"),
    wording(
        Role.HYPOTHETICAL,
        Strength.FORCE,
        90,
        r"(?:would|could|might) (?:\w+ ){0,2}?" + f"(?:{_FORCE}|{_END}|happen)",
        r"(?:intends?|expects?|hopes?) (?:[^.;,]{0,40} )?(?:rules?|regulations?|orders?) to " + _FORCE,
        r"""
        (?:propos\w+|tentative|estimated|projected|provisional) (?:\w+ )?(?:effective|start|end|sunset) (?:date|day)
        (?:no|not) (?:earlier|sooner) than  not before  at the earliest  earliest  tentative\w*
        as (?:early|soon) as(?! possible)
        """,
    ),
    wording(
        Role.COMPLIANCE,
        Strength.FORCE,
        90,
        rf"appl(?:y|ies|icable) (?:only )?(?:to|for) {_YEARS}\b" r"[^.;]{0,60}?\b(?:after|before|from|in|on)",
        rf"{_MUST} (?:\w+ ){{0,3}}?{_ACT}",
        r"""
        compl(?:y|ies|iance|iant|ied|ying)  applicability  implementation (?:deadline|period)  grace period
        transition(?:al)? period  (?:migrate|upgrade|switch|move)\b[^.;,]{0,50}\b(?:by|before)
        migration (?:deadline|window|period|guide|date)  phas(?:e|ed|ing)[- ]in
        deadline for (?:existing|operators|compl)\w*  (?:to be|be) completed by
        may (?:already |also |choose to )?(?:follow|use|rely|apply|adopt|comply|move|switch|migrate|upgrade)
        enforcement discretion
        """,
    ),
    wording(
        Role.COMMENT,
        Strength.FORCE,
        150,
        r"""
        comment(?:s|ed|ers?|ing)?(?: period| deadline| due| date)?  hearings?  meetings?  workshops?
        webinars?  office hours  outlines?  petitions?  objections?  nominations?  feedback  consultation
        requests? to (?:speak|testify|appear)  replies  views  regist(?:er|ration) (?:to|for|closes|by)
        (?:received|due|postmarked|arrive|in) (?:\w+ )?(?:by|on or before|no later than)
        (?:send|submit(?:ted)?|filed?|mail(?:ed)?)\b[^.;]{0,60}?\b(?:by|before|no later than|on or before)
        listening session  deadline for (?:submi|comment|fil|request)\w*
        applications? (?:close|due|open|deadline)\w*  due dates?  due (?:on|by|before)  public input
        host(?:ing)? an?  judicial review  review in the[^.;]{0,40}\bcourt  town hall  livestream  Q&A
        opt out by
        """,
    ),
    wording(
        Role.MILESTONE,
        Strength.FORCE,
        110,
        r"""
        brown-?\s?outs?  scream tests?  roll-?\s?out (?:\w+ )?(?:begin|start|commence)\w*  scheduled tests?
        maintenance window
        (?:begin|start)\w* (?:a |the |our |to )?(?:gradual(?:ly)? |phased |staged )?(?:roll(?:ing)?[- ]?out)
        reminders?  (?:preview|beta|early access|pilot|opt-in|opt in|trial)  code freeze
        gradual(?:ly)? \w+ (?:begins?|starts?)  actual notice (?:will|is|of)  end[- ]of[- ]sales?
        (?:sell|ship|buy|order)\b[^.;,]{0,12}\blast
        (?:accept|adopt|migrat|switch|mov)\w* early
        (?:will|shall|'ll|to) (?:also )?(?:e-?mail|notify|remind|inform|tell|contact|report|share|write)
        warnings? (?:begin|start|appear|header)\w*  temporar(?:y|ily) (?:outage|unavailab|disabl)\w*
        last (?:day|date) to (?:buy|order|purchase)  feature freeze  tests?  testing  staging  sandbox
        (?:a |the )?(?:small|first|limited) (?:share|group|batch|percentage|fraction|part|subset|wave|set)
        some (?:customers|users|accounts|requests)
        (?:replacement|successor)\b[^.;,]{0,40}\b(?:available|launched|released|shipped)
        general availability of (?:the )?(?:replacement|successor|new)
        """,
    ),
    wording(
        Role.CITED,
        Strength.FORCE,
        60,
        rf"(?<!this )(?<!this final )\b{_RULE} (?:\w+ ){{0,5}}?published\b"
        r"[^.;]{0,60}?(?:,|\band\b) ?(?:and )?(?:was |were |became )?effective",
        rf"(?:existing|earlier|older|original|prior|previous|current|that|former|\d{{4}}) (?:final "
        rf"|interim )?{_RULE}\b"
        r"[^.;]{0,30}?\b(?:took effect|became effective|came into force|went into effect"
        r"|has been in (?:force|effect)|applied)",
        rf"{_RULE} of",
        r"(?:which|that)\b(?: [^.;]{0,60})? (?:was|became|took|went|came) (?:effective|effect|into (?:force|effect))",
        r"itself effective  effective since",
        r"""
        incorporat\w+ by reference
        (?<!\ba )(?<!\ban )(?<!\bthe )\b(?:approved|adopted|signed|proposed|received|filed|requested|submitted)
        issue of  memorand(?:um|a)  submi(?:ttal|ssion)  handed in  dated  came out  NPRM  petitioned  voted
        enacted  passed  withdrew
        (?:order|letter|decision|agreement|act|law|directive|proclamation|opinion|ruling|advisory) (?:of|dated)
        released  launched  first (?:issued|released|launched|introduced|published|shipped)  introduced
        last (?:updated|modified|reviewed|revised)  (?:page|document|post) (?:was )?updated
        ha(?:s|ve) (?:been )?(?:effective|in (?:force|effect)|applied|charged|used|valid|\w+ing) since
        learned  decided  occurred  met
        began (?:work|review|an? )\w*  amended on  last amended  sent in  turned in  asked  reported on
        """,
    ),
    wording(
        Role.PUBLISHED,
        Strength.FORCE,
        45,
        r"""
        publish(?:ed|ing)?  publication
        appear(?:s|ed)  appearance  made public  given out  printed  in print  posted  announced?  announcements?
        issued?(?: on)?(?! (?:on )?(?:or )?(?:after|before))
        notice date  notified  post date  date of (?:this )?(?:notice|issue|post)  issue date
        ^date\b:?  \|\ date\b:?  deprecation (?:announced|notice|date announced)
        """,
    ),
    wording(
        Role.EFFECTIVE,
        Strength.FORCE,
        140,
        r"effective\b(?!\s+(?:ways?|means|tools?|use|treat\w*|measures?|methods?|manner|control|tax|rate"
        r"|doses?|strateg\w+|protection|solutions?))",
        r"""
        (?:date|day) of (?:effect|commencement|entry into force)  commencement(?: date)?
        tak(?:es?|ing|en) (?:legal |full )?effect
        \("?(?:the )?"?(?:effective|end|EOL|retirement|shutdown|sunset|termination|change) date["')]
        (?:comes?|coming|enters?|entering|goes|go|going) into (?:legal |full )?(?:force|effect|operation)
        operative (?:date|on|from)  entry into (?:force|effect|operation)  with effect (?:from|as of|on)
        in (?:full )?(?:force|effect) (?:from|on|as of|since)  effect from
        becomes? (?:law|binding|operative|enforceable|effective)  legally binding
        ha(?:s|ve) (?:full |legal )?effect
        """,
    ),
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        8,
        rf"(?:can|may) be used (?:[^.;:,\d]{{1,40}}? )?{_FROM}  opens? (?:on|from)",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        60,
        r"applicable(?: date| on| from| as of| beginning)?  deprecat(?:ed|ion|es?|ing)(?: date| on)?  read[- ]only",
    ),
    wording(
        Role.EXPIRY,
        Strength.FORCE,
        30,
        r"run(?:s|ning)? out",
        r"expir(?:es?|y|ed|ation|ing)  valid (?:until|through|to)  remains? in (?:effect|force) (?:until"
        r"|through)  lapses?",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.CHANGE,
        8,
        r"(?:appl(?:y|ies)|in use|replac(?:es?|ing) (?:it|them|this|these|the \w+(?: \w+)?)) "
        rf"(?:\w+ ){{0,4}}?{_FROM}",
        rf"(?:is|are|be|becomes?|stays?) (?:valid|charged|payable|levied|due|in use|applied)"
        rf" (?:[^.;:,\d]{{1,40}}? )?{_FROM}",
        rf"valid {_FROM}",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.CHANGE,
        110,
        r"""
        (?:took|taken) (?:legal |full )?effect
        (?:came|went|entered|put|brought) into (?:legal |full )?(?:force|effect|operation)
        became (?:law|effective|binding)  implement(?:ation|ed|s)?(?: date)?  start(?:ing)? dates?
        commenc(?:es?|ed|ing)  (?:kick|set)s? in  goes live  lights go out
        go(?:ing)?[- ]live  went live  in (?:force|effect|place)
        start of (?:the |this )?(?:rule|change|order|policy)  any ?more  any longer
        begins? to apply  starts? (?:to apply|applying)  comes? under  switch(?:es|ed|ing)?[- ]?(?:over|off)
        (?:stops?|stopped|stopping|cease[sd]?|ceasing|quits?)(?: (?:to )?\w+)?
        shut(?:s|ting)?[- ]?(?:down|off)  turn(?:s|ed|ing)?[- ]?(?:off|down)
        (?:powered|powering|wound|winding|taken|taking) down  retir(?:e|es|ed|ing|al|ement)(?: date)?
        sunset(?:s|ted|ting)?(?: date)?  decommission\w*  remov(?:e|es|ed|ing|al)(?: date)?  discontinu\w+
        end[- ]of[- ](?:life|service|support|maintenance)(?: date)?  EO[LS]  end dates?
        (?:will|to|shall) (?:\w+ )?end
        (?:support|access|service|availability|maintenance|program|plan|sync) (?:\w+ ){0,6}?end(?:s|ed|ing)?
        end(?:s|ed)? (?:on|for)  no longer(?: be)?(?: \w+)?  unsupported
        (?:un|in)(?:available|reachable|accessible|usable)
        not be (?:available|accepted|supported|possible|able)  cannot  withdrawn  withdraws  withdrawal date
        delet(?:e|es|ed|ing|ion)  disabl(?:e|es|ed|ing)  go(?:es|ing)? (?:away|dark|offline|off)  (?:off|gone)(?=:)
        offlin(?:e|ed)
        (?:becomes?|be|is|are) (?:mandatory|required|compulsory|obligatory|the default|the only|enforced)
        enforc(?:e|es|ed|ing|ement)(?: date)?  reject(?:s|ed|ing)?  refus(?:e|es|ed|ing)  block(?:s|ed|ing)?
        fails?  revok(?:e|es|ed|ing)
        (?:return(?:s|ed|ing)?|answer(?:s|ed)?) (?:with )?(?:an? )?(?:\w+ )?(?:errors?|4\d\d|5\d\d|HTTP)
        rescind(?:s|ed)?  repeal(?:s|ed)?  phas(?:e|es|ed|ing)[- ]out  cut-?over(?: date)?
        general(?:ly)? availab\w+  final (?:shut\w*|removal|day|date)  last (?:day|date)
        (?:lose|loses|losing) (?:access|(?:\w+ )?validity)
        (?:prices?|pricing|fees?|rates?|tariffs?|terms) (?:\w+ )?(?:appl(?:y|ies)|changes?|rises?|starts?|go(?:es)? up)
        (?:complete[sd]?|finish(?:es|ed)?|fully)\b[^.;,]{0,30}\broll(?:ed)?[- ]?out  say(?:ing)? goodbye
        pull(?:ed|ing)? the plug  roll[- ]?out (?:\w+ )?(?:complete|finish|end|reach|conclude)\w*
        (?:wind|shut|close|tear)(?:s|ing)? (?:it |them )?down  clos(?:es|ed|ing) down
        (?:completed?|finished|done) (?:for|on|in|across) (?:all|every)\w*  clos(?:es|ed) for good
        drop(?:s|ped|ping)?  die[sd]?  last time  reach(?:es|ed)? (?:100|all|every\w*|full)\b%?  counts from
        tak(?:en?|es) away  on for (?:all|every\w*)
        (?:is|be|are) (?:off|gone|replaced|moved|migrated|converted|upgraded)
        (?:is|are) good from  binds?  runs from  hold(?:s|ing)? (?:good )?(?:from|as of)
        suspend(?:s|ed)?  stayed  stays the  governs  (?:nobody|no one) (?:can|may|will)
        (?:taken|goes|going|put) out of (?:service|use)
        (?:rule|amendments?|change|order|directive|regulation|notice|policy) (?:starts?|begins?|applies)
        """,
    ),
]

HINTS: list[Wording] = [
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        6,
        r"""
        ^dates:
        (?:starting|beginning|commencing|from|as of|as from|on and after|on or after|since|until|till)(?: (?:on|from))?
        """,
    ),
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        90,
        r"(?:will|shall|going to)  'll  appl(?:y|ies|icable)  (?:start|begin)(?:s|ning)?  happens?  takes? place"
        r"  (?:all|every) (?:the )?(?:remaining|other) \w+  every(?:one|body) else"
        r"  new (?:fees?|rates?|prices?|amounts?)",
    ),
]
