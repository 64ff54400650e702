/** The command line: the commands, their options, and how they end. */
import { Command, CommanderError, Option } from "commander";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { PHASE_NAMES, PHASES } from "../core/phases.ts";
import { OPERATIONS } from "../operations/table.ts";
import { CliError, EXIT, asCliError, errorDocument, renderError } from "./errors.ts";
import { assignRun } from "./commands/assign.ts";
import { BEAT, type Into, wholeNumber } from "./arguments.ts";
import { type DecisionFlags, decideGate, listApprovals } from "./commands/approve.ts";
import { GRANT_OPTIONS } from "./commands/budget.ts";
import { diagnoseRun } from "./commands/diagnose.ts";
import { verifyTyped } from "./commands/verify.ts";
import { list, showLedger, showRun, showTimeline, watch } from "./commands/show.ts";
import { addChecking } from "./program-checking.ts";
import { addRecorded } from "./program-recorded.ts";
import { purgeRun } from "./commands/purge.ts";
import { reconcileCall } from "./commands/reconcile.ts";
import { redriveRun } from "./commands/redrive.ts";
import { showSchedules } from "./commands/schedules.ts";
import { cancelAndUndo, restartRun } from "./commands/undo.ts";
import { type Shell, printDocument } from "./shell.ts";
import { start } from "./commands/start.ts";
import { sendWords, steerRun } from "./commands/steer.ts";
import { upgradeRun } from "./commands/upgrade.ts";
import { commandLine } from "./render/words.ts";
import { work } from "./commands/work.ts";

/** Runs the command that the user typed, and returns its exit code. Never rejects: it prints an error instead. */
export async function runCommand(shell: Shell, version: string): Promise<number> {
  try {
    return await parse(shell, version);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const told = asCliError(error, shell.argv);
    shell.terminal.waitFor(null);
    if (shell.json) printDocument(shell, errorDocument(told));
    else shell.terminal.err(renderError(told, shell.terminal.paintErr));
    return told.trouble.exit;
  }
}

async function parse(shell: Shell, version: string): Promise<number> {
  let exit: number = EXIT.done;
  const ends = (command: Promise<number>): Promise<void> =>
    command.then((code) => {
      exit = code;
    });
  const program = programOf(shell, version);
  addRunning(program, { shell, ends });
  addSteering(program, { shell, ends });
  addLooking(program, { shell, ends });
  addRecorded(program, { shell, ends });
  addChecking(program, { shell, ends });
  if (shell.argv.length === 0) {
    program.outputHelp();
    return EXIT.usage;
  }
  try {
    await program.parseAsync([...shell.argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error;
    throw usageError(shell, { error, commands: program.commands.map((command) => command.name()) });
  }
  return exit;
}

function programOf(shell: Shell, version: string): Command {
  const program = bareProgram(shell, version);
  for (const { flags, says } of shell.worlds.flatMap(({ options }) => options)) program.option(flags, says);
  const names = shell.worlds.map(({ name }) => name);
  const [first = ""] = names;
  return program.option(
    "--world <name>",
    `where runs are stored: ${names.join(" or ")} (default: CAIRN_WORLD, then the config file, then ${first})`,
  );
}

function bareProgram({ terminal }: Shell, version: string): Command {
  return new Command("cairn")
    .description("LLM agents that survive anything: one short, fenced, resumable beat at a time.")
    .version(version, "--version", "print the version")
    .option("--json", "print only JSON on stdout: one document, or JSON lines")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      // `runCommand` prints the error, in the same form as every other error.
      outputError: () => {},
    })
    .addHelpText("after", HELP)
    .exitOverride();
}

const HELP = `
A run ID may be shortened to a unique prefix of at least 6 characters, its tenant not counted.
Exit codes: 0 done, 1 the run or check failed, 2 usage, 3 not found, 4 refused or an operator is needed, 5 store error;
130 and 143 if a waiting command was interrupted.

Begin with:
  npx cairn start travel --input '{"from":"Berlin","to":"Lisbon"}' --wait`;

function addRunning(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Runs:");
  program
    .command("start <agent>")
    .description(OPERATIONS.start.help)
    .option("--input <json>", "the task: JSON, @file, or - for stdin")
    .option("--key <key>", "idempotency key: the same key gives the same run, also for 30 days after its end")
    .option("--wait", "wait until the run has ended or needs an operator; drive the run if no other process does")
    .option("--tenant <name>", "the tenant of the run", DEFAULT_TENANT)
    .option("--beat-seconds <seconds>", BEAT)
    .action((agent: string, _, command: Command) => ends(start(shell, { agent, flags: command.optsWithGlobals() })));
  program
    .command("work")
    .description("drive the runs of a store until stopped; only one process at a time may do so")
    .option(
      "--workers <n>",
      "how many beats run at the same time (default: the config file, then 4)",
      wholeNumber(1, 1_000),
    )
    .option("--beat-seconds <seconds>", BEAT)
    .action((_, command: Command) => ends(work(shell, command.optsWithGlobals())));
  program
    .command("reconcile <run> <call>")
    .description(OPERATIONS.reconcile.help)
    .addOption(
      new Option("--as <answer>", ANSWERS)
        .choices(["succeeded", "failed", "retry", "compensate"])
        .makeOptionMandatory(),
    )
    .option("--result <json>", "with succeeded: what the call returned; JSON or @file")
    .option("--note <text>", "a note for the record")
    .action((run: string, call: string, _, command: Command) =>
      ends(reconcileCall(shell, { run, call, flags: command.optsWithGlobals() })),
    );
}

const ANSWERS =
  "succeeded: it happened; failed: it did not; retry: it did not, run it now; compensate: undo all effects of the run";

interface Wish {
  readonly upgrade?: boolean;
  readonly compensate?: boolean;
}

function addDecisions(program: Command, { shell, ends }: Into): void {
  program
    .command("approvals")
    .description("list the calls that wait for a human's approval")
    .option("--tenant <name>", "the tenant of the runs", DEFAULT_TENANT)
    .action((_, command: Command) => ends(listApprovals(shell, command.optsWithGlobals())));
  for (const { command: name, help = "" } of OPERATIONS.decide.typed) {
    const decision = program
      .command(`${name} <run> [gate]`)
      .description(help)
      .option("--note <text>", "why, for the record and for the model");
    if (name === "approve") {
      decision.option(
        "--args <json>",
        "run the call with these arguments instead; they must match the tool's input; JSON or @file",
      );
      for (const [option, means] of GRANT_OPTIONS) decision.option(option, means);
    }
    decision.action((run: string, gate: string | undefined, _, command: Command) => {
      const flags = command.optsWithGlobals<DecisionFlags>();
      return ends(decideGate(shell, { run, gate: gate ?? null, approve: name === "approve", flags }));
    });
  }
}

function addSteering(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Steering:");
  program
    .command("send <run> <text>")
    .description(OPERATIONS.send.help)
    .option("--key <key>", "idempotency key: the same key sends one message, however often it is sent")
    .action((run: string, text: string, _, command: Command) =>
      ends(sendWords(shell, { run, text, flags: command.optsWithGlobals() })),
    );
  addDecisions(program, { shell, ends });
  for (const want of ["pause", "resume", "cancel"] as const) {
    const steering = program.command(`${want} <run>`).description(OPERATIONS[want].help);
    if (want === "resume") steering.option("--upgrade", OPERATIONS.upgrade.help);
    if (want === "cancel") steering.option("--compensate", "undo its effects before it ends, newest first");
    steering.action((run: string, { upgrade = false, compensate = false }: Wish, command: Command) => {
      const flags = command.optsWithGlobals();
      if (compensate) return ends(cancelAndUndo(shell, { run, flags }));
      return ends(upgrade ? upgradeRun(shell, { run, flags }) : steerRun(shell, { run, want, flags }));
    });
  }
  program
    .command("restart <run>")
    .description(OPERATIONS.restart.help)
    .option("--yes", "confirm the restart")
    .action((run: string, _, command: Command) => ends(restartRun(shell, { run, flags: command.optsWithGlobals() })));
  program
    .command("redrive <run>")
    .description(OPERATIONS.redrive.help)
    .option("--by <name>", "who asks for it, for the record (default: you)")
    .option("--why <text>", "why, for the record")
    .action((run: string, _, command: Command) => ends(redriveRun(shell, { run, flags: command.optsWithGlobals() })));
  program
    .command("assign <run> <operator>")
    .description(OPERATIONS.assign.help)
    .action((run: string, operator: string, _, command: Command) =>
      ends(assignRun(shell, { run, to: operator, flags: command.optsWithGlobals() })),
    );
  program
    .command("purge <run>")
    .description(OPERATIONS.purge.help)
    .option("--keep-archive", "keep its archive, if it has one, until the archive's own retention expires")
    .option("--yes", "skip the question; required if there is no terminal to ask at")
    .option("--forget-key", "also free its idempotency key: the key may start the work again; needs the full run ID")
    .action((run: string, _, command: Command) => ends(purgeRun(shell, { run, flags: command.optsWithGlobals() })));
}

const STATUSES = [...new Set(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)])];

function addLooking(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Inspecting:");
  program
    .command("list")
    .description(OPERATIONS.list.help)
    .addOption(new Option("--status <status>", "only runs of this status").choices(STATUSES))
    .option("--agent <name>", "only runs of this agent")
    .option("--tenant <name>", "the tenant of the runs", DEFAULT_TENANT)
    .option("--limit <n>", "at most this many", wholeNumber(1, 100_000), 20)
    .action((_, command: Command) => ends(list(shell, command.optsWithGlobals())));
  program
    .command("schedules")
    .description("list the scheduled agents: when each fires next, and the result of its last firing")
    .action((_, command: Command) => ends(showSchedules(shell, command.optsWithGlobals())));
  const looks = [
    ["show", OPERATIONS.show.help, showRun],
    ["timeline", OPERATIONS.timeline.help, showTimeline],
    ["ledger", OPERATIONS.ledger.help, showLedger],
    ["diagnose", OPERATIONS.diagnose.help, diagnoseRun],
    ["verify", OPERATIONS.verify.help, verifyTyped],
    ["watch", "follow a run's timeline until the run has ended or needs an operator", watch],
  ] as const;
  for (const [name, description, look] of looks) {
    program
      .command(`${name} <run>`)
      .description(description)
      .action((run: string, _, command: Command) => ends(look(shell, { run, flags: command.optsWithGlobals() })));
  }
}

/** Turns an error of commander into the form of every other error. */
function usageError(
  { argv }: Shell,
  { error, commands }: { readonly error: CommanderError; readonly commands: readonly string[] },
): CliError {
  const [first = "", ...more] = error.message.replace(/^error: /, "").split("\n");
  const what = error.code === "commander.help" ? "no command was given" : first;
  // A global option with a value may come before the command.
  const command = argv.find((word) => commands.includes(word));
  const isKnown = command !== undefined && error.code !== "commander.unknownCommand";
  const next = commandLine([...(isKnown ? [command] : []), "--help"]);
  const help = isKnown ? "the help lists the arguments and options of this command" : "the help lists all commands";
  const meant = /Did you mean (.+)\?/.exec(more.join(" "))?.[1];
  const why = meant === undefined ? help : `did you mean ${meant}?`;
  return new CliError({ code: "Usage", exit: EXIT.usage, what, why, next }, { cause: error });
}
