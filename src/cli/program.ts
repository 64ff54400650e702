/** The command line: the commands, their options, and how they end. */
import { Command, CommanderError, Option } from "commander";
import { CRACK_NAMES } from "../core/crack.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { PHASE_NAMES, PHASES } from "../core/phases.ts";
import { HELP } from "../operations/help.ts";
import { CliError, EXIT, errorDocument, renderError } from "./errors.ts";
import { BEAT, type Into, WHY, dollarsAbove, each, reason, wholeNumber } from "./arguments.ts";
import { addAccess } from "./program-access.ts";
import { addBackups } from "./program-backups.ts";
import { addChecking } from "./program-checking.ts";
import { addDeciding } from "./program-deciding.ts";
import { addMemory } from "./program-memory.ts";
import { addProjects } from "./program-projects.ts";
import { addRecorded } from "./program-recorded.ts";
import { addRequests } from "./program-requesting.ts";
import { addServing } from "./program-serving.ts";
import { type Shell, printDocument } from "./shell.ts";
import { commandLine } from "./render/words.ts";

/** Runs the command that the user typed, and returns its exit code. Never rejects: it prints an error instead. */
export async function runCommand(shell: Shell, version: string): Promise<number> {
  try {
    return await parse(shell, version);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const { asCliError } = await import("./thrown-errors.ts");
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
  addProjects(program, { shell, ends });
  addRunning(program, { shell, ends });
  addSteering(program, { shell, ends });
  addLooking(program, { shell, ends });
  addRecorded(program, { shell, ends });
  addMemory(program, { shell, ends });
  addAccess(program, { shell, ends });
  addBackups(program, { shell, ends });
  addChecking(program, { shell, ends });
  if (isOverHttp(shell.argv)) (await import("./remote/remote.ts")).speakHttp(program, { shell, ends });
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

const API = "--api <url>";

const isOverHttp = (argv: readonly string[]): boolean =>
  argv.some((word) => word === "--api" || word.startsWith("--api="));

function programOf(shell: Shell, version: string): Command {
  const program = bareProgram(shell, version);
  for (const { flags, says } of shell.worlds.flatMap(({ options }) => options)) program.option(flags, says);
  const names = shell.worlds.map(({ name }) => name);
  const [first = ""] = names;
  return program
    .option(API, "speak HTTP to the API at this URL, with the access token in CAIRN_TOKEN")
    .option(
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
    .addHelpText("after", AFTER_HELP)
    .exitOverride();
}

const AFTER_HELP = `
A run ID may be shortened to a unique prefix of at least 6 characters, its tenant not counted.
Exit codes: 0 done, 1 the run or check failed, 2 usage, 3 not found, 4 refused or an operator is needed, 5 store error;
130 and 143 if a waiting command was interrupted.

Begin with:
  npx cairn-run init my-agents`;

function addRunning(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Runs:");
  program
    .command("start <agent>")
    .description(HELP.start)
    .option("--input <json>", "the task: JSON, @file, or - for stdin")
    .option("--file <path>", "a file of the task: an image, a document; may be repeated", each)
    .option("--key <key>", "idempotency key: the same key gives the same run, also for 30 days after its end")
    .option("--wait", "wait until the run has ended or needs an operator; drive the run if no other process does")
    .option("--tenant <name>", "the tenant of the run", DEFAULT_TENANT)
    .option("--beat-seconds <seconds>", BEAT)
    .action(async (agent: string, _, command: Command) =>
      ends((await import("./commands/start.ts")).start(shell, { agent, flags: command.optsWithGlobals() })),
    );
  addServing(program, { shell, ends });
  program
    .command("reconcile <run> <call>")
    .description(HELP.reconcile)
    .addOption(
      new Option("--as <answer>", ANSWERS)
        .choices(["succeeded", "failed", "retry", "compensate"])
        .makeOptionMandatory(),
    )
    .option("--result <json>", "with succeeded: what the call returned; JSON or @file")
    .option("--note <text>", "a note for the record")
    .action(async (run: string, call: string, _, command: Command) =>
      ends(
        (await import("./commands/reconcile.ts")).reconcileCall(shell, { run, call, flags: command.optsWithGlobals() }),
      ),
    );
}

const ANSWERS =
  "succeeded: it happened; failed: it did not; retry: it did not, run it now; compensate: undo all effects of the run";

function addSteering(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Steering:");
  program
    .command("send <run> <text>")
    .description(HELP.send)
    .option("--file <path>", "a file of the message; may be repeated", each)
    .option("--key <key>", "idempotency key: the same key sends one message, however often it is sent")
    .action(async (run: string, text: string, _, command: Command) =>
      ends((await import("./commands/steer.ts")).sendWords(shell, { run, text, flags: command.optsWithGlobals() })),
    );
  addDeciding(program, { shell, ends });
  addRequests(program, { shell, ends });
  program
    .command("restart <run>")
    .description(HELP.restart)
    .option("--yes", "confirm the restart")
    .option("--why <text>", WHY, reason)
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/undo.ts")).restartRun(shell, { run, flags: command.optsWithGlobals() })),
    );
  program
    .command("fork <run>")
    .description(HELP.fork)
    .requiredOption("--at <version>", "the version to begin with", wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option("--input <json>", "another task: JSON, @file, or - for stdin (default: the same task)")
    .option("--key <key>", "idempotency key: the same key gives the same fork")
    .option("--yes", "fork also past effects that the two runs do not share")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/fork.ts")).forkTyped(shell, { run, flags: command.optsWithGlobals() })),
    );
  program
    .command("redrive <run>")
    .description(HELP.redrive)
    .option("--by <name>", "who asks for it, for the record (default: you)")
    .option("--why <text>", "why, for the record")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/redrive.ts")).redriveRun(shell, { run, flags: command.optsWithGlobals() })),
    );
  program
    .command("assign <run> <operator>")
    .description(HELP.assign)
    .action(async (run: string, operator: string, _, command: Command) =>
      ends(
        (await import("./commands/assign.ts")).assignRun(shell, {
          run,
          to: operator,
          flags: command.optsWithGlobals(),
        }),
      ),
    );
  program
    .command("purge <run>")
    .description(HELP.purge)
    .option("--keep-archive", "keep its archive, if it has one, until the archive's own retention expires")
    .option("--yes", "skip the question; required if there is no terminal to ask at")
    .option("--forget-key", "also free its idempotency key: the key may start the work again; needs the full run ID")
    .action(async (run: string, _, command: Command) =>
      ends((await import("./commands/purge.ts")).purgeRun(shell, { run, flags: command.optsWithGlobals() })),
    );
}

const SCHEDULE_ACTIONS = `
Actions:
  pause AGENT   ${HELP.pauseSchedule}
  resume AGENT  ${HELP.resumeSchedule}
  run AGENT     ${HELP.runSchedule}`;

const STATUSES = [...new Set(["queued", ...PHASE_NAMES.map((name) => PHASES[name].status)])];

function addLooking(program: Command, { shell, ends }: Into): void {
  program.commandsGroup("Inspecting:");
  program
    .command("list")
    .description(HELP.list)
    .addOption(new Option("--status <status>", "only runs of this status").choices(STATUSES))
    .option("--agent <name>", "only runs of this agent")
    .option("--agent-version <version>", "only runs of this version of their agent")
    .addOption(new Option("--phase <phase>", "only runs in this phase, such as AwaitingApproval").choices(PHASE_NAMES))
    .option("--schedule <agent>", "only runs that the schedule of this agent started")
    .addOption(new Option("--crack <name>", "only runs that gave this first signal of a failure").choices(CRACK_NAMES))
    .option("--since <time>", "only runs that began since then: an age such as 2h or 7d, or a date")
    .option("--above <dollars>", "only runs that spent more", dollarsAbove)
    .option("--tenant <name>", "the tenant of the runs", DEFAULT_TENANT)
    .option("--limit <n>", "at most this many", wholeNumber(1, 100_000), 20)
    .action(async (_, command: Command) =>
      ends((await import("./commands/show.ts")).list(shell, command.optsWithGlobals())),
    );
  program
    .command("agents")
    .description(HELP.agents)
    .action(async (_, command: Command) =>
      ends((await import("./commands/agent-list.ts")).listConfigured(shell, command.optsWithGlobals())),
    );
  program
    .command("schedules [action] [agent]")
    .description(HELP.schedules)
    .addHelpText("after", SCHEDULE_ACTIONS)
    .option("--key <key>", "with run: idempotency key, the same key gives the same run")
    .action(async (action: string | undefined, agent: string | undefined, _, command: Command) => {
      const flags = command.optsWithGlobals();
      if (action === undefined) return ends((await import("./commands/schedules.ts")).showSchedules(shell, flags));
      return ends((await import("./commands/steer-schedule.ts")).steerSchedule(shell, { action, agent, flags }));
    });
  const looks = [
    ["show", HELP.show, async () => (await import("./commands/show.ts")).showRun],
    ["timeline", HELP.timeline, async () => (await import("./commands/show.ts")).showTimeline],
    ["ledger", HELP.ledger, async () => (await import("./commands/show.ts")).showLedger],
    ["cost", HELP.cost, async () => (await import("./commands/show.ts")).showCost],
    ["diagnose", HELP.diagnose, async () => (await import("./commands/diagnose.ts")).diagnoseRun],
    ["verify", HELP.verify, async () => (await import("./commands/verify.ts")).verifyTyped],
    [
      "watch",
      "follow a run's timeline until the run has ended or needs an operator",
      async () => (await import("./commands/show.ts")).watch,
    ],
  ] as const;
  for (const [name, description, look] of looks) {
    program
      .command(`${name} <run>`)
      .description(description)
      .action(async (run: string, _, command: Command) =>
        ends((await look())(shell, { run, flags: command.optsWithGlobals() })),
      );
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
