"""Chinese wordings of official notices and vendors' announcements, the particular before the general."""

from tools.noticereading.model import Role, Strength
from tools.noticereading.wording import Wording, wording

_FORCE = r"(?:施行|实施|执行|生效|起效|实行)"

CHINESE: list[Wording] = [
    wording(
        Role.NEGATED,
        Strength.FORCE,
        40,
        rf"(?:不|未|不再|不予|停止|终止)(?:再)?(?:按期|如期)?{_FORCE}",
    ),
    wording(
        Role.HYPOTHETICAL,
        Strength.FORCE,
        30,
        rf"(?:拟|预计|计划|力争|原则上)(?:于|自|在)?(?=[^。;]{{0,24}}{_FORCE})",
        r"""
        不早于  最早于?
        """,
    ),
    wording(
        Role.MILESTONE,
        Strength.FORCE,
        40,
        r"停止(?:新?(?:购|增|开通|注册)|新用户|充值|续费|(?:销售|售卖)会员)|灰度|试运行|测试环境|演练",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.FORCE,
        40,
        rf"(?:暂停|中止|恢复)(?:正式)?{_FORCE}?(?!期间|期满)",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.CHANGE,
        40,
        r"""
        有效期限?(?=自|从)  停止(?:受理|办理|审批|签发|核发)
        """,
    ),
    wording(
        Role.CITED,
        Strength.FORCE,
        14,
        r"""
        (?:旧|原|现行)(?:办法|规定|条例|公告|通知|规则|细则|标准)[^。;,]{0,30}?(?:施行|实施|执行|生效)
        (?:公布|发布|印发|颁布|施行|实施|生效|签发|下发|执行)的  审议(?:通过)?
        《[^》]{0,60}》\([^)原]{0,40}(?:令|号|公布|发布|印发)[^)原]{0,40}\)
        (?:次|办|务)会议  会议  通过
        宣布  修[订正改]  签署(?!公布)  批准  核准  召开  立案  制定  《[^》]{0,40}》\(  受理  更新(?:时间|日期)
        最后更新  申请日  首次(?:发布|上线|推出)  来函  提出
        """,
    ),
    wording(
        Role.COMMENT,
        Strength.FORCE,
        60,
        r"""
        征求意见  意见  反馈  截止(?:时间|日期)?  听证  报名  公示期?  报送  提交  座谈  申报(?:时间|截止|期)
        研讨会  直播
        """,
    ),
    wording(
        Role.COMPLIANCE,
        Strength.FORCE,
        40,
        r"""
        过渡期  (?:应当?|须|需|必须|请)[^。;]{0,12}(?:前|之前|以前)
        (?:完成|达到|符合|备案|整改|改造|迁移|升级|办理|换发|切换)(?=[^。;自]{0,12}$)  宽限期  合规
        (?<=[日号])(?:之|以)?前(?:应当?|须|完成|已|取得|签订|发布|受理|向|将|做好|提出|办理)?
        """,
    ),
    wording(
        Role.EXPIRY,
        Strength.FORCE,
        10,
        r"""
        有效期(?:限)?(?:为|至|到|截至|延长至)?  截至  (?<=[日号])止  失效  期满  届满
        """,
    ),
    wording(
        Role.PUBLISHED,
        Strength.FORCE,
        14,
        r"""
        (?:签署)?(?:公布|发布|印发|发文|成文|颁布|签发|刊登|下发|上网|发稿)(?:日期|时间|之?日)?
        (?:公告|通知)(?:日期|时间)  网站刊登  (?:^|\| )日期  公开日期
        """,
    ),
    wording(
        Role.EFFECTIVE,
        Strength.FORCE,
        40,
        rf"(?:正式|开始|起)?{_FORCE}(?:日期|时间|之?日)?(?!(?:情况|细则|方案|办法|意见|条例|机构|主体|单位"
        rf"|标准|过程|中|的))",
        r"""
        起始日期
        """,
    ),
    wording(
        Role.EFFECTIVE,
        Strength.CHANGE,
        10,
        r"(?<=[日号])起(?:正式|开始|统一)?(?:使用|收取|收费|有效|适用|启用|开放|开通|按新)",
    ),
    wording(
        Role.EFFECTIVE,
        Strength.CHANGE,
        40,
        r"""
        下线  停止(?:提供|支持|运营|服务|使用|维护|更新|接受|受理|办理|销售)?  停服  停用  关停  关闭  终止
        下架  移除  删除  废止  废除  取消  不再  退役  淘汰  退市  无法  启用  上线  切换  强制  到期  结束
        落幕  谢幕  作废  停(?:止)?维(?:护)?  寿命终止  停运  拒绝  撤销  撤回
        """,
    ),
]

HINTS_ZH: list[Wording] = [
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        3,
        r"""
        (?:自|从)(?=\d|[一二〇]|$)  自(?:本\w{2})?(?=(?:公布|发布|印发|下发)(?:之|当|次)日起,)
        """,
    ),
    wording(Role.EFFECTIVE, Strength.HINT, 14, r"(?<=[日号时分\d])起"),
    wording(
        Role.EFFECTIVE,
        Strength.HINT,
        40,
        r"""
        适用  调整  弃用  废弃  收费  开始  将
        """,
    ),
]
