"""Authorization extensions."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Authorization extensions"
REQUIREMENTS = (
    Req(
        "R-AUTHX-01",
        "MUST*",
        "extension client-credentials",
        "Machines get tokens for themselves.",
        "ext oauth-client-credentials",
        open="OAuth is not built",
    ),
    Req(
        "R-AUTHX-02",
        "MUST*",
        "extension enterprise-managed",
        "A company's identity provider vouches for its users.",
        "ext enterprise-managed-authorization ; SEP-990",
        open="OAuth is not built",
    ),
    Req(
        "R-AUTHX-03",
        "MUST*",
        "extension enterprise-managed",
        "And then nobody is sent to the other authorization server.",
        "ext enterprise-managed-authorization",
        open="OAuth is not built",
    ),
    Req(
        "R-AUTHX-04",
        "MUST*",
        "extension wif",
        "Workloads use the identity that they have.",
        "SEP-1933 ; conformance auth/wif-jwt-bearer",
        open="OAuth is not built",
    ),
    Req(
        "R-AUTHX-05",
        "MUST*",
        "extension dpop",
        "Tokens are bound to a key.",
        "SEP-1932 ; conformance auth/dpop*",
        open="OAuth is not built",
    ),
    Req(
        "R-AUTHX-06",
        "MUST*",
        "extension ui",
        "Apps are shown in a sandbox, and their calls mediated.",
        "docs/extensions/apps",
        na="there is no browser to show an app in; the extension is not declared",
    ),
)
