/** The commands that request a change of a run: pause, resume and cancel. */
import type { Command } from "commander";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { HELP } from "../operations/help.ts";
import { type Into, WHY, reason } from "./arguments.ts";

interface Wish {
  readonly upgrade?: boolean;
  readonly compensate?: boolean;
  readonly all?: boolean;
}

export function addRequests(program: Command, { shell, ends }: Into): void {
  for (const want of ["pause", "resume", "cancel"] as const) {
    const place = want === "cancel" ? "[run]" : "<run>";
    const steering = program.command(`${want} ${place}`).description(HELP[want]).option("--why <text>", WHY, reason);
    if (want === "resume") steering.option("--upgrade", HELP.upgrade);
    if (want === "cancel") addCancelling(steering);
    steering.action(async (run: string | undefined, wish: Wish, command: Command) => {
      const { upgrade = false, compensate = false, all = false } = wish;
      const flags = command.optsWithGlobals();
      if (all && run === undefined && !compensate)
        return ends((await import("./commands/cancel-all.ts")).cancelAllRuns(shell, flags));
      if (run === undefined || all)
        return command.error("error: name one run, or --all with --agent and without others");
      if (compensate) return ends((await import("./commands/undo.ts")).cancelAndUndo(shell, { run, flags }));
      if (upgrade) return ends((await import("./commands/upgrade.ts")).upgradeRun(shell, { run, flags }));
      return ends((await import("./commands/steer.ts")).steerRun(shell, { run, want, flags }));
    });
  }
}

const addCancelling = (cancelling: Command): Command =>
  cancelling
    .option("--compensate", "undo its effects before it ends, newest first")
    .option("--all", HELP.cancelAll)
    .option("--agent <agent>", "with --all: whose runs")
    .option("--tenant <tenant>", "with --all: of which tenant", DEFAULT_TENANT)
    .option("--yes", "with --all: do not ask");
