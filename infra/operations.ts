/**
 * Generates the table of watches for docs/operations.md. Watches with the same meaning and the same action share a row.
 */
import { ALL_CRACKS } from "../src/core/topologies/cracks.ts";
import { namesOf } from "./names.ts";
import { planOf } from "./plan.ts";
import { type Watch, kebab } from "./watch.ts";
import { watchesOf } from "./watches.ts";

/** Placeholders for values that differ between deployments. */
const ANY = namesOf("PREFIX", { partition: "aws", region: "REGION", account: "ACCOUNT" });

/** The table in Markdown. Names omit the prefix of the deployment. */
export function operationsTable(): string {
  const rows = new Map<string, Watch[]>();
  for (const watch of watchesOf(ANY, planOf({}, []))) {
    const todo = /-(?:errors|near-timeout)$/.test(watch.name)
      ? watch.todo.replaceAll(/PREFIX-\w+/g, "PREFIX-FUNCTION")
      : watch.todo;
    const text = [watch.means, todo].map((cell) => cell.replaceAll("|", "\\|")).join(" | ");
    rows.set(text, [...(rows.get(text) ?? []), watch]);
  }
  const lines = [...rows].map(
    ([text, watches]) => `| ${watches.map(({ name }) => `\`${name}\``).join(" ")} | ${text} |`,
  );
  return ["| alarm | means | what to do |", "|---|---|---|", ...lines].join("\n");
}

/** The table of cracks of `docs/topologies.md`. */
export function cracksTable(): string {
  const cells = ["topology", "crack", "first signal", "threshold", "by itself a run", "alarm", "first response"];
  const rows = ALL_CRACKS.map(({ topology, crack, signal, threshold, recovery, metric, response }) => [
    topology,
    `\`${crack}\``,
    signal,
    threshold,
    recovery,
    `\`${kebab(metric)}\``,
    response,
  ]);
  return [cells, cells.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
