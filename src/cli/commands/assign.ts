/** `cairn assign RUN OPERATOR`: assigns a run to an operator. */
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { contextOf, refusedAs, unlessGone } from "../perform.ts";
import { openRun } from "./runs.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";

export async function assignRun(
  shell: Shell,
  of: { readonly run: string; readonly to: string; readonly flags: StoreFlags },
): Promise<number> {
  const { opened, run } = await openRun(shell, of);
  const { settings } = opened;
  const next = settings.command("show", run);
  if (of.to.trim() === "") {
    const [what, why] = ["the operator's name is empty", "an assignment needs the name of an operator"];
    throw new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: settings.command("assign", run, "NAME") });
  }
  const outcome = unlessGone(opened, {
    run,
    outcome: await performOperation(OPERATIONS.assign, contextOf(shell, opened), { run, to: of.to }),
  });
  switch (outcome.kind) {
    case "accepted":
    case "same": {
      const { to } = outcome;
      if (shell.json) printDocument(shell, { run, assigned: to, by: shell.user() });
      else shell.terminal.out(`${run} is assigned to ${to}${outcome.kind === "same" ? " already" : ""}`);
      return EXIT.done;
    }
    case "crossed": {
      const what = `another operator assigned run ${run} to ${outcome.to} at the same moment`;
      throw refusedAs(OPERATIONS.assign, "crossed", { what, why: "the first assignment counts", next });
    }
    case "late": {
      const why = "an ended run needs no operator";
      throw refusedAs(OPERATIONS.assign, "late", { what: `run ${run} has ended`, why, next });
    }
  }
}
