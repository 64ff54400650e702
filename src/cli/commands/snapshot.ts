/** `cairn snapshot RUN VERSION`: prints the whole state of a run at one of its versions, as JSON. */
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { contextOf, refusedAs, unlessGone } from "../perform.ts";
import type { Shell, StoreFlags } from "../shell.ts";
import { printDocument } from "../shell.ts";
import { find } from "./show.ts";

export async function showVersion(
  shell: Shell,
  of: { readonly run: string; readonly version: string; readonly flags: StoreFlags },
): Promise<number> {
  if (!/^\d{1,15}$/.test(of.version)) {
    const [what, why] = [`${of.version} is no version`, "a version is the number of commits of the run, such as 4"];
    throw new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: "npx cairn timeline RUN" });
  }
  const { opened, run } = await find(shell, of);
  const version = Number(of.version);
  const outcome = await performOperation(OPERATIONS.snapshot, contextOf(shell, opened), { run, version });
  const shown = unlessGone(opened, { run, outcome });
  if (shown.kind === "versionUnknown") {
    const [what, why] = [`run ${run} has no version ${version}`, `its newest one is ${shown.of}`];
    const next = opened.settings.command("snapshot", run, String(shown.of));
    throw refusedAs(OPERATIONS.snapshot, shown.kind, { what, why, next });
  }
  const { kind: _, ...document } = shown;
  if (shell.json) printDocument(shell, document);
  else shell.terminal.out(JSON.stringify(document, null, 2));
  return EXIT.done;
}
