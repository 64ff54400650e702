/** `cairn assign RUN OPERATOR`: assigns a run to an operator. */
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs, unlessRunGone } from "../perform.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { transportToRun } from "../choose-transport.ts";

export async function assignRun(
  shell: Shell,
  typed: { readonly run: string; readonly to: string; readonly flags: StoreFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const next = transport.command("show", run);
  if (typed.to.trim() === "") {
    const [what, why] = ["the operator's name is empty", "an assignment needs the name of an operator"];
    throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: transport.command("assign", run, "NAME") });
  }
  const outcome = unlessRunGone(transport, {
    run,
    outcome: await transport.perform("assign", { run, to: typed.to }),
  });
  switch (outcome.kind) {
    case "accepted":
    case "same": {
      const { to } = outcome;
      if (shell.json) printDocument(shell, { run, assigned: to, by: await transport.actor() });
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
