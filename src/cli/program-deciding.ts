/** The commands with which a human decides, answers, or signals what a run waits for. */
import type { Command } from "commander";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { HELP } from "../operations/help.ts";
import type { Into } from "./arguments.ts";
import type { DecisionFlags } from "./commands/approve.ts";
import { GRANT_OPTIONS } from "./commands/budget.ts";

export function addDeciding(program: Command, into: Into): void {
  addDecisions(program, into);
  addInputs(program, into);
}

function addDecisions(program: Command, { shell, ends }: Into): void {
  program
    .command("approvals")
    .description(HELP.approvals)
    .option("--tenant <name>", "the tenant of the runs", DEFAULT_TENANT)
    .action(async (_, command: Command) =>
      ends((await import("./commands/approve.ts")).listApprovals(shell, command.optsWithGlobals())),
    );
  for (const name of ["approve", "deny"] as const) {
    const decision = program
      .command(`${name} <run> [gate]`)
      .description(HELP[name])
      .option("--note <text>", "why, for the record and for the model");
    if (name === "approve") {
      decision.option(
        "--args <json>",
        "run the call with these arguments instead; they must match the tool's input; JSON or @file",
      );
      for (const [option, means] of GRANT_OPTIONS) decision.option(option, means);
    }
    decision.action(async (run: string, gate: string | undefined, _, command: Command) => {
      const flags = command.optsWithGlobals<DecisionFlags>();
      return ends(
        (await import("./commands/approve.ts")).decideGate(shell, {
          run,
          gate: gate ?? null,
          approve: name === "approve",
          flags,
        }),
      );
    });
  }
}

function addInputs(program: Command, { shell, ends }: Into): void {
  program
    .command("answer <run> <call>")
    .description(HELP.answer)
    .requiredOption("--result <json>", "the answer; JSON or @file")
    .action(async (run: string, call: string, _, command: Command) =>
      ends((await import("./commands/answer.ts")).answerCall(shell, { run, call, flags: command.optsWithGlobals() })),
    );
  program
    .command("signal <run> <event>")
    .description(HELP.signal)
    .option("--detail <json>", "what the event carries; JSON or @file")
    .option("--key <key>", "idempotency key: the same key signals one event, however often it is sent")
    .action(async (run: string, event: string, _, command: Command) =>
      ends((await import("./commands/answer.ts")).signalEvent(shell, { run, event, flags: command.optsWithGlobals() })),
    );
}
