/**
 * The status page: the calls that wait for a decision or an answer, with the commands to type, and the newest runs with links to
 * their documents. It has no script, so the text of a
 * run, which is escaped, could do nothing even if it were not.
 */
import { createHash } from "node:crypto";
import type { WaitingGate, WaitingQuestion } from "../operations/approvals.ts";
import type { Json } from "../core/json.ts";
import type { Listed } from "../operations/list.ts";
import type { Summary } from "../operations/views.ts";

const REFRESH_SECONDS = 3;

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 15%, Canvas); }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.2rem; margin: 0 0 .5rem; }
h2 { font-size: 1rem; margin: 1.2rem 0 0; }
p { margin: .3rem 0; }
ul { list-style: none; padding: 0; margin: 1rem 0; }
li { border-top: 1px solid var(--line); padding: .6rem 0; display: flex; flex-wrap: wrap; gap: .2rem .8rem; }
code { overflow-wrap: anywhere; }
.wide { flex-basis: 100%; }
.quiet { opacity: .75; }
.status { min-width: 5.5rem; font-weight: 600; }
.completed { color: light-dark(#17692f, #6fd08c); }
.failed, .damaged { color: light-dark(#a3122a, #ff8a97); }
.blocked, .waiting, .paused { color: light-dark(#7a4d00, #f0b95a); }
nav { flex-basis: 100%; display: flex; flex-wrap: wrap; gap: .8rem; }
`;

/** The policy of the page: its own style, and nothing else. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** More gates than this are only counted. */
const GATES_SHOWN = 20;
const ARGS_SHOWN = 400;

/** The page as HTML. `place`: where the runs are stored. */
export function statusPage(
  listed: Omit<Listed, "kind">,
  of: {
    readonly place: string;
    readonly now: number;
    readonly gates: readonly WaitingGate[];
    readonly questions: readonly WaitingQuestion[];
  },
): string {
  const { runs, damaged, more } = listed;
  const { place, now, gates, questions } = of;
  const open = [...gates.filter(({ decided }) => !decided).map(gateOf), ...questions.map(questionOf)];
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
${waitingSection(open)}<ul>
${items.length === 0 ? none : items.join("\n")}
</ul>
${more ? `<p>There are more runs: <a href="/runs?limit=500">all as JSON</a>.</p>` : ""}
</body>
</html>
`;
}

function itemOf({ run, agent, status, phase, statusSince, spent }: Summary, now: number): string {
  const path = `/runs/${encodeURIComponent(run)}`;
  const links = ["events", "ledger", "cost", "diagnosis"]
    .map((part) => `<a href="${path}/${part}">${part}</a>`)
    .join(" ");
  return `<li><span class="status ${status}">${status}</span> <a href="${path}"><code>${escaped(run)}</code></a> ${escaped(agent)}
<span class="quiet">${escaped(phase)} for ${durationWords(now - statusSince)}, $${spent.usd}</span> <nav>${links}</nav></li>`;
}

function waitingSection(open: readonly string[]): string {
  if (open.length === 0) return "";
  const more =
    open.length > GATES_SHOWN ? `<p>And ${open.length - GATES_SHOWN} more: <code>npx cairn approvals</code></p>` : "";
  return `<h2>Waiting for you</h2>
<ul>
${open.slice(0, GATES_SHOWN).join("\n")}
</ul>
${more}<h2>Runs</h2>
`;
}

const shownJson = (json: Json): string => {
  const text = JSON.stringify(json);
  return escaped(text.length > ARGS_SHOWN ? `${text.slice(0, ARGS_SHOWN)}…` : text);
};

function questionOf({ run, agent, call, tool, args, schema }: WaitingQuestion): string {
  const fits = schema === null ? "" : `<code class="wide quiet">${shownJson(schema)}</code>\n`;
  return `<li><span class="status waiting">${escaped(tool)}</span> <span>${escaped(agent)}: it asks you</span>
<code class="wide quiet">${shownJson(args)}</code>
${fits}<code class="wide">npx cairn answer ${escaped(run)} ${escaped(call)} --result JSON</code></li>`;
}

function gateOf({ run, agent, call, tool, reason, args }: WaitingGate): string {
  const commands = ["approve", "deny"].map(
    (as) => `<code class="wide">npx cairn ${as} ${escaped(run)} ${escaped(call)}</code>`,
  );
  return `<li><span class="status waiting">${escaped(tool)}</span> <span>${escaped(agent)}: ${escaped(reason)}</span>
<code class="wide quiet">${shownJson(args)}</code>
${commands.join("\n")}</li>`;
}

/** `45 s`, `37 min`, `5 h`, `6 days`. */
function durationWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 36 * 3_600 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;" },
  ...{ '"': "&quot;", "'": "&#39;" },
};

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
