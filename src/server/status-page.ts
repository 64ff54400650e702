/**
 * The status page: the newest runs with their status, and links to their documents. It has no script, so the text of a
 * run, which is escaped, could do nothing even if it were not.
 */
import { createHash } from "node:crypto";
import type { Listed } from "../operations/list.ts";
import type { Summary } from "../operations/views.ts";

const REFRESH_SECONDS = 3;

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 15%, Canvas); }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.2rem; margin: 0 0 .5rem; }
p { margin: .3rem 0; }
ul { list-style: none; padding: 0; margin: 1rem 0; }
li { border-top: 1px solid var(--line); padding: .6rem 0; display: flex; flex-wrap: wrap; gap: .2rem .8rem; }
code { overflow-wrap: anywhere; }
.status { min-width: 5.5rem; font-weight: 600; }
.completed { color: light-dark(#17692f, #6fd08c); }
.failed, .damaged { color: light-dark(#a3122a, #ff8a97); }
.blocked, .waiting, .paused { color: light-dark(#7a4d00, #f0b95a); }
nav { flex-basis: 100%; display: flex; gap: .8rem; }
`;

/** The policy of the page: its own style, and nothing else. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page as HTML. `place`: where the runs are stored. */
export function statusPage(
  listed: Omit<Listed, "kind">,
  { place, now }: { readonly place: string; readonly now: number },
): string {
  const { runs, damaged, more } = listed;
  const items = [
    ...runs.map((run) => itemOf(run, now)),
    ...damaged.map(
      ({ run, why }) =>
        `<li><span class="status damaged">damaged</span> <code>${escaped(run)}</code> ${escaped(why)}</li>`,
    ),
  ];
  const none = "<li>There is no run yet. Start one: <code>npx cairn start AGENT</code>, or POST /runs.</li>";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>cairn</title>
<style>${STYLE}</style>
</head>
<body>
<h1>cairn</h1>
<p>The runs of <code>${escaped(place)}</code>, newest first. <a href="/openapi.json">The API</a> steers them.</p>
<ul>
${items.length === 0 ? none : items.join("\n")}
</ul>
${more ? `<p>There are more runs: <a href="/runs?limit=500">all as JSON</a>.</p>` : ""}
</body>
</html>
`;
}

function itemOf({ run, agent, status, phase, statusSince, spent }: Summary, now: number): string {
  const path = `/runs/${encodeURIComponent(run)}`;
  const links = ["events", "ledger", "diagnosis"].map((part) => `<a href="${path}/${part}">${part}</a>`).join(" ");
  const seconds = Math.max(0, Math.round((now - statusSince) / 1_000));
  return `<li><span class="status ${status}">${status}</span> <a href="${path}"><code>${escaped(run)}</code></a> ${escaped(agent)}
<span>${escaped(phase)}, ${seconds} s, $${spent.usd}</span> <nav>${links}</nav></li>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;" },
  ...{ '"': "&quot;", "'": "&#39;" },
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
