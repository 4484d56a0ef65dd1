"""The words that *triage* knows, in English and Chinese, by the tier of what they do; a table, no decisions.

A verb stands in the tier of what it usually does to things that matter. What it does to something else (a draft, a database, everybody) is
said by the pairs below. A word that is missing makes a tool L2, so words are only needed for what is less, or more, than that.
"""

from __future__ import annotations

from typing import Final

from dragoman.wire.tier import Tier


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


VERBS: Final[dict[Tier, frozenset[str]]] = {
    "L0": words(
        "get read list search find fetch query lookup look show view describe count check inspect browse explore retrieve peek "
        "tail head grep stat ls cat dir help whoami ping diff compare validate verify analyze analyse summarize summarise "
        "calculate compute convert translate estimate preview explain parse detect classify extract display poll track measure "
        "rank suggest recommend predict forecast is has exists which what who where echo sleep wait think sequentialthinking "
        "return screenshot lint profile"
    ),
    "L1": words(
        "tag untag label unlabel star unstar bookmark unbookmark favorite favourite pin unpin mark unmark flag unflag draft "
        "stash stage snooze annotate highlight copy duplicate mkdir remember memorize checkpoint snapshot download note jot "
        "scribble mktemp"
    ),
    "L2": words(
        "send email mail text sms message call dial notify alert post publish share invite reply respond forward comment react "
        "tweet merge delete remove del rm unlink rmdir trash move mv rename overwrite replace write edit modify change update "
        "set unset configure enable disable activate deactivate toggle switch install uninstall upgrade downgrade restart "
        "reboot start stop kill pause resume shutdown suspend deploy undeploy release rollback revert reset restore execute "
        "exec run eval invoke trigger schedule reschedule cancel import sync upload push commit rebase pull clone fork create "
        "add insert upsert append make new register save store put patch submit approve reject deny accept assign unassign "
        "close reopen resolve lock unlock grant revoke authorize authorise rotate subscribe unsubscribe follow unfollow block "
        "unblock ban archive unarchive empty clear clean book reserve rsvp click type fill press drag drop_off navigate open "
        "print login logout scale migrate provision apply generate compose attach detach link mount unmount encrypt decrypt "
        "compress invalidate bump vote like dislike hire onboard request order transfer checkout scan_in train escalate mute "
        "unmute kick promote demote load boot spawn launch connect disconnect capture wire place confirm initiate issue process "
        "complete terminate dismiss fire perform bind unbind extend renew redeem claim dispatch ship fax leave join record"
    ),
    "L3": words(
        "charge refund pay repay purchase buy sell withdraw payout remit disburse donate reimburse bid drop truncate destroy "
        "purge wipe erase shred nuke obliterate annihilate expunge broadcast sign notarize notarise liquidate sue litigate "
        "foreclose evict"
    ),
}

#: Words of VERBS that are things as often as deeds: ``get_refund_status`` and ``list_message`` do what their first word says.
NOUNS_TOO: Final = words(
    "charge refund order transfer message post comment email mail tag label draft call text update change commit merge "
    "release share invite note star mark flag request checkout purchase reply like vote payout start stop schedule import "
    "link record highlight pin drop bid snapshot stage sms alert block lock approve book print clone fork follow switch "
    "train profile bookmark type store issue process capture place wire fire state log open new set tweet archive run "
    "deploy build push pull favorite favourite"
)

#: What is asked about a thing; a word before one of these is that thing.
FACTS: Final = words(
    "status state history log logs list record records info information details detail count counts summary report reports "
    "stats statistics balance events event metadata schema version versions id ids url template templates type types policy "
    "policies method methods rules settings config options settings diff preview progress health time timeline tree names "
    "name content contents results result search lookup"
)

#: Verbs that make or keep something, and what may be made without a thought, since it is nobody else's and easily thrown away.
MAKING: Final = words(
    "create add make new save write insert append update edit rename set put store upsert apply compose generate unset modify open"
)
SMALL_THINGS: Final = words(
    "draft drafts temp tmp tmpfile temporary scratch scratchpad note notes tag tags label labels bookmark bookmarks "
    "favorite favorites favourite favourites star folder directory todo todos reminder reminders memory memories cache "
    "highlight stash playlist observation observations entity entities annotation annotations sandbox clipboard tempfile "
    "branch"
)
#: Taking these off is as easily undone as putting them on.
STUCK_ON: Final = words("tag tags label labels star bookmark bookmarks favorite favourite reminder pin flag highlight")
TAKING_OFF: Final = words("remove unset clear detach")

#: Pairs of words, in any order, that mean more than each of them.
PAIRS: Final[tuple[tuple[frozenset[str], frozenset[str], Tier, str], ...]] = (
    (
        words("delete del rm wipe trash kill"),
        words(
            "database databases db table tables account accounts repository repositories repo bucket volume disk drive backup "
            "backups cluster tenant organization organisation org namespace collection everything all permanently permanent history "
            "partition keyspace project workspace user users customer customers environment production prod vault dataset contract "
            "employee schema index"
        ),
        "L3",
        "data that may not come back",
    ),
    (
        words("remove clear empty reset close terminate cancel clean format"),
        words(
            "database databases db tables account accounts repository repo bucket volume disk drive backup backups cluster "
            "everything all trash bin factory permanently history"
        ),
        "L3",
        "data that may not come back",
    ),
    (words("terminate"), words("instance instances vm server"), "L3", "data that may not come back"),
    (
        words("send notify email mail text sms message alert post call invite publish push announce mention dm ping forward"),
        words(
            "all everyone everybody everywhere bulk mass company companywide blast audience subscribers organization organisation "
            "employees staff customers members newsletter campaign here channelwide"
        ),
        "L3",
        "reaches everybody",
    ),
    (
        words(
            "send make create submit process issue execute place confirm capture initiate authorize authorise approve release "
            "schedule transfer wire move convert redeem move settle deposit open close modify accept start trigger update apply add "
            "cancel run post new request"
        ),
        words(
            "payment payments payout payouts refund charge money funds cash transaction transactions remittance trade trades "
            "invoice_payment bitcoin crypto eth usdc stablecoin salary payroll loan mortgage tip donation debit withdrawal purchase"
        ),
        "L3",
        "money",
    ),
    (words("place create submit confirm execute buy new"), words("order orders bet"), "L3", "money"),
    (words("checkout pay complete submit"), words("cart basket bill invoice"), "L3", "money"),
    (
        words("submit file accept execute send"),
        words("tax taxes lawsuit contract agreement will testament patent filing terms"),
        "L3",
        "law",
    ),
    (words("fire terminate dismiss"), words("employee staff worker contract account"), "L3", "law"),
    (
        words("get read list show fetch reveal export dump"),
        words("secret secrets password passwords credential credentials privatekey"),
        "L2",
        "secrets",
    ),
    (words("check"), words("in out"), "L2", "a check-in is a deed"),
    (words("extract"), words("archive zip tar file files"), "L2", "writes files"),
)

#: English phrases of descriptions that tell of what cannot be taken back, or of everybody.
PHRASES: Final[tuple[tuple[str, Tier], ...]] = (
    ("permanently", "L3"),
    ("irreversibl", "L3"),
    ("cannot be undone", "L3"),
    ("can't be undone", "L3"),
    ("can not be undone", "L3"),
    ("cannot be recovered", "L3"),
    ("cannot be reversed", "L3"),
    ("unrecoverabl", "L3"),
    ("@everyone", "L3"),
    ("@channel", "L3"),
    ("legally binding", "L3"),
    ("real money", "L3"),
    ("不可恢复", "L3"),
    ("无法恢复", "L3"),
    ("不可撤销", "L3"),
    ("无法撤销", "L3"),
    ("不可逆", "L3"),
    ("永久删除", "L3"),
    ("彻底删除", "L3"),
)

#: Parameters that let a caller say what is done, and those that spend.
RUNS_WHAT_IT_IS_GIVEN: Final = words("command cmd shell script code sql statement javascript python bash expression_code program")
FORCES: Final = words("force overwrite recursive delete purge hard permanent cascade")
MONEY: Final = words("currency card_number cardnumber iban payee payment_method paymentmethod card cvv")
ACTIONS: Final = words("action operation op mode verb method command task")

# Chinese has no spaces: the longest word that fits is taken, and the first deed of a clause says what the clause is about.
CHINESE: Final[dict[Tier, frozenset[str]]] = {
    "L0": words(
        "搜索 查询 查看 读取 列出 获取 检索 浏览 统计 显示 查找 计算 翻译 预览 比较 对比 校验 验证 分析 识别 解析 检查 读 查 "
        "列举 搜寻 返回 展示 查阅 拉取 换算 估算 预测 摘要 总结 提取 监测 监控 追踪 跟踪 检测 转换 阅读 询问"
    ),
    "L1": words("打标签 加标签 贴标签 添加标签 收藏 加星 星标 标记 暂存 存草稿 存为草稿 打标 置顶 记笔记 备忘 记住 下载 复制 起草 草拟"),
    "L2": words(
        "发送 发信 发邮件 发短信 发消息 群聊 寄送 合并 删除 删掉 移除 修改 更改 变更 设置 设定 更新 移动 重命名 覆盖 上传 发布 "
        "发表 回复 评论 分享 共享 邀请 授权 执行 运行 安装 卸载 重启 停止 启动 部署 提交 推送 取消 关闭 启用 禁用 审批 批准 "
        "拒绝 写入 创建 新建 添加 新增 编辑 保存 导入 同步 回滚 撤回 恢复 替换 调整 配置 切换 开启 通知 提醒 转发 预订 预约 "
        "订阅 退订 拨打 打电话 分配 指派 归档 清理 清除 生成 调用 触发 重置 登录 注册 绑定 解绑 锁定 解锁 发起 申请 打印 点击 "
        "填写 插入 追加 删 写 改为 发给"
    ),
    "L3": words(
        "扣款 扣费 退款 支付 付款 转账 收费 收款 汇款 提现 购买 下单 充值 打款 缴费 缴纳 结算 投注 买入 卖出 清空 删库 销毁 "
        "抹除 格式化 群发 广播 签署 签约 注销 开除 解雇 清库 删表 捐款 放款 还款 报税 起诉"
    ),
}
CHINESE_SMALL_THINGS: Final = (
    "草稿",
    "临时",
    "标签",
    "书签",
    "备注",
    "便签",
    "笔记",
    "待办",
    "备忘",
    "收藏",
    "缓存",
    "文件夹",
    "目录",
    "分支",
    "提醒",
)
CHINESE_MAKING: Final = words("创建 新建 添加 新增 编辑 保存 写入 更新 写 生成 修改 设置")
CHINESE_TAKING_OFF: Final = words("移除 取消")
CHINESE_PAIRS: Final[tuple[tuple[frozenset[str], tuple[str, ...], Tier, str], ...]] = (
    (
        words("删除 删掉 删 清理 清除 移除 重置 关闭"),
        (
            "数据库",
            "数据表",
            "整个",
            "所有",
            "全部",
            "账户",
            "账号",
            "帐号",
            "仓库",
            "备份",
            "永久",
            "彻底",
            "集群",
            "存储桶",
            "用户",
            "回收站",
            "磁盘",
            "项目",
            "出厂",
        ),
        "L3",
        "data that may not come back",
    ),
    (
        words("发送 发信 发邮件 发短信 发消息 通知 推送 发布 提醒 转发 邀请 发给"),
        (
            "所有人",
            "全员",
            "全体",
            "全公司",
            "所有用户",
            "所有客户",
            "全部用户",
            "每个人",
            "大家",
            "所有员工",
            "所有成员",
            "批量",
            "所有订阅",
        ),
        "L3",
        "reaches everybody",
    ),
    (
        words("提交 创建 执行 发起 批准 发送 生成 审批 申请 新建 调用"),
        ("支付", "付款", "退款", "转账", "交易", "订单", "工资", "贷款", "汇款", "扣款", "报税", "合同"),
        "L3",
        "money or law",
    ),
    (words("查看 读取 获取 导出 显示 查询"), ("密码", "密钥", "凭证", "机密"), "L2", "secrets"),
)  #: Said before a deed that is then no deed.
CHINESE_NOT: Final = ("不", "不会", "不要", "无需", "没有", "未", "勿", "不能", "不再")
#: A deed followed by one of these is a thing: 退款记录 are records.
CHINESE_FACTS: Final = (
    "的", "记录", "历史", "日志", "状态", "列表", "信息", "详情", "数据", "情况", "明细", "进度", "金额", "方式", "结果", "时间", "模板",
    "政策", "规则", "统计", "内容", "次数", "余额", "报告", "订单", "请求", "费用", "流水", "单", "项", "者", "通知", "渠道", "记",
)  # fmt: skip
#: These are things where they end a clause that reads.
CHINESE_NOUNS_TOO: Final = words("设置 配置 通知 评论 回复 更新 提交 标记 收藏 提醒 备忘 邀请 订阅 预约 预订 监控 统计 分析 摘要 授权")
CHINESE_BREAKS: Final = "，。；、！？,;.!?：:（）()\n并且或及与和后再然"
