/** What is watched, for the page of operators: those that mean the same and ask for the same in one row. */
import { namesOf } from "./names.ts";
import { planOf } from "./plan.ts";
import type { Watch } from "./watch.ts";
import { watchesOf } from "./watches.ts";

/** Stand for what differs from deployment to deployment. */
const ANY = namesOf("PREFIX", { partition: "aws", region: "REGION", account: "ACCOUNT" });

/** A table in Markdown; names without the prefix of their deployment. */
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
