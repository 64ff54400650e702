/** `cairn schedules pause|resume|run AGENT`: pauses a schedule, lets it go on, or starts a scheduled run now. */
import { registerResolution } from "../../sdk/resolution.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { locateTyped } from "../locate.ts";
import { type Opened, openSettled } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";

interface Asked {
  readonly action: string;
  readonly agent: string | undefined;
  readonly flags: StoreFlags & { readonly key?: string };
}

const ROWS = {
  pause: OPERATIONS.pauseSchedule,
  resume: OPERATIONS.resumeSchedule,
  run: OPERATIONS.runSchedule,
} as const;

export async function steerSchedule(shell: Shell, { action, agent: name, flags }: Asked): Promise<number> {
  if (!(action in ROWS) || name === undefined) throw usage(action);
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const { agent } = await locateTyped(shell, { name, settings });
  const opened = await openSettled(shell, settings, { create: action === "run" });
  const context = contextOf(shell, opened, { agentOf: async () => agent });
  const said = { agent: agent.name };
  if (action === "run") {
    const outcome = await performOperation(ROWS.run, context, { ...said, key: flags.key ?? null });
    return started(shell, opened, { agent: agent.name, outcome });
  }
  const { kind } = await performOperation(action === "pause" ? ROWS.pause : ROWS.resume, context, said);
  if (kind === "agentUnknown" || kind === "notScheduled") throw notScheduled(opened, agent.name);
  if (shell.json) printDocument(shell, { agent: agent.name, outcome: kind });
  else shell.terminal.out(`${agent.name}: ${ROWS.pause.outcomes[kind].says}`);
  return EXIT.done;
}

type Outcome = Awaited<ReturnType<typeof OPERATIONS.runSchedule.run>>;

function started(shell: Shell, opened: Opened, of: { readonly agent: string; readonly outcome: Outcome }): number {
  const { agent, outcome } = of;
  const { command } = opened.settings;
  const what = `the schedule of ${agent} starts no run now`;
  switch (outcome.kind) {
    case "started":
    case "exists": {
      const { run } = outcome.row;
      const isFirst = outcome.kind === "started";
      if (shell.json) printDocument(shell, { run, agent, started: isFirst });
      else shell.terminal.out(`${run} ${isFirst ? "is started" : "was started before under this key"}`);
      return EXIT.done;
    }
    case "overlaps": {
      const why = `its last run ${outcome.run} has not ended, and its runs may not overlap`;
      throw refusedAs(ROWS.run, outcome.kind, { what, why, next: command("show", outcome.run) });
    }
    case "invalid":
      throw refusedAs(ROWS.run, outcome.kind, { what, why: outcome.why, next: command("schedules") });
    case "conflict":
    case "limitReached":
    case "budgetMissing":
    case "ended": {
      const why = ROWS.run.outcomes[outcome.kind].says;
      throw refusedAs(ROWS.run, outcome.kind, { what, why, next: command("schedules", "run", agent) });
    }
    case "agentUnknown":
    case "notScheduled":
      throw notScheduled(opened, agent);
  }
}

function notScheduled({ settings: { command } }: Opened, agent: string): CliError {
  const why = 'its code declares none: write schedule: { every: "rate(1 day)" }';
  return refusedAs(ROWS.run, "notScheduled", { what: `${agent} has no schedule`, why, next: command("schedules") });
}

function usage(action: string): CliError {
  const [what, why] = [`cairn cannot ${action} a schedule`, "name an action and the agent"];
  return new CliError({ code: "Usage", exit: EXIT.usage, what, why, next: "npx cairn schedules pause AGENT" });
}
