/** Renders an audit for humans: narrow tables, then the long texts, each once with all tools that it applies to. */
import type { Agent } from "../ports/agent.ts";
import type { Audit } from "../doctor/audit.ts";
import type { CrackAudit, ToolAudit } from "../doctor/audit-missing.ts";
import { type Cell, type Ink, type Paint, type Style, fittedTable, pairs } from "./paint.ts";
import { count, duration } from "./words.ts";

export function renderAudit(
  { tools, cracks, checkpoint, context, missing }: Audit,
  page: Pick<Style, "paint" | "width"> & { readonly agent: Pick<Agent, "name" | "version" | "topology"> },
): string {
  const { agent, paint } = page;
  const { name, version, topology } = agent;
  const flagged = missing.flatMap(({ what, why, mend }) => [
    `${paint("yellow", "!")} ${what.padEnd(WHAT_COLUMNS)}  ${why}`,
    `${" ".repeat(WHAT_COLUMNS + 4)}${paint("dim", "→")} ${mend}`,
  ]);
  return [
    `${paint("bold", name)}, version ${version}${paint("dim", `  ${topology.kind}, ${count(tools.length, "tool")}`)}`,
    "",
    ...fittedTable(COLUMNS, tools.map(rowOf), page),
    ...section(
      paint,
      "when its process dies during the call",
      grouped(tools, ({ recovery }) => recovery.inWords),
    ),
    ...section(
      paint,
      "the dial: when its plan is committed",
      grouped(tools, ({ dial }) => dial.why),
    ),
    ...section(paint, "checkpoints", [[topology.kind, checkpoint.inWords]]),
    ...(context === null ? [] : section(paint, "context", [["summaries", context.inWords]])),
    ...section(paint, "first failures of its topology", cracks.map(crackLine)),
    "",
    ...(flagged.length > 0
      ? [paint("bold", "missing safeguards"), ...flagged]
      : [paint("green", "no safeguard is missing")]),
  ].join("\n");
}

/** The table of tools as Markdown, for a documentation page. */
export function renderAuditMarkdown({ tools }: Audit): string {
  const head = ["tool", "effect", "idempotent", "key", "probe", "undo", "when its process dies during the call"];
  const rows = tools.map((tool) => {
    const flags = [tool.idempotent, tool.key ?? false, tool.probe, tool.undo].map((is) =>
      typeof is === "string" ? is : is ? "yes" : "no",
    );
    return [
      tool.tool,
      tool.effect,
      ...flags,
      `${tool.recovery.inWords}${tool.decisionPoint ? " (decision point)" : ""}`,
    ];
  });
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const WHAT_COLUMNS = 9;

const COLUMNS = [
  ...["TOOL", "EFFECT", "IDEMPOTENT", "KEY", "PROBE", "UNDO", "APPROVAL"].map((title) => ({ title })),
  ...["TIMEOUT", "SETTLE"].map((title) => ({ title, align: "right" as const })),
  { title: "" },
];

function rowOf(tool: ToolAudit): readonly Cell[] {
  const ink: Ink = tool.decisionPoint ? "red" : tool.idempotent ? "green" : "yellow";
  return [
    tool.tool,
    { text: tool.effect, ink },
    yes(tool.idempotent),
    tool.key === null ? yes(false) : `Y ${tool.key}`,
    yes(tool.probe),
    yes(tool.undo),
    tool.approval,
    duration(tool.timeoutMs),
    tool.settleMs === null ? { text: "-", ink: "dim" } : duration(tool.settleMs),
    tool.decisionPoint ? { text: "← a crash needs you", ink: "red" } : "",
  ];
}

const yes = (is: boolean): Cell => (is ? "Y" : { text: "N", ink: "dim" });

/** Groups the tools that share a text. */
function grouped(tools: readonly ToolAudit[], wordsOf: (tool: ToolAudit) => string): [string, string][] {
  const names = new Map<string, readonly string[]>();
  for (const each of tools) names.set(wordsOf(each), [...(names.get(wordsOf(each)) ?? []), each.tool]);
  return [...names].map(([words, of]) => [of.join(", "), words]);
}

const crackLine = ({ crack, signal, threshold, recovery, alarm }: CrackAudit): [string, string] => [
  crack,
  `${signal} (${threshold}) → it ${recovery}; ${alarm === null ? "no alarm reports it" : `alarm ${alarm}`}`,
];

function section(paint: Paint, title: string, lines: readonly (readonly [string, string])[]): readonly string[] {
  return lines.length === 0 ? [] : ["", paint("bold", title), ...pairs(lines, paint)];
}
