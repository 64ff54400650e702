/** The commands of `cairn`, in the order of its help: those of operations, as data, and those of this machine. */
import { type Command, Argument, Option, InvalidArgumentError } from "commander";
import { type Into, BEAT, wholeNumber } from "./arguments.ts";
import { HANDLERS } from "./handlers.ts";
import { type TypedCommand, addTyped } from "./typed-command.ts";
import type { ShellName } from "./commands/completion.ts";
import { setFlagsFromString } from "node:v8";
import type { ServeFlags } from "./commands/serve.ts";
import { STRATEGIES } from "../chaos/strategy.ts";
import type { ChaosFlags } from "./commands/chaos.ts";
import type { RolloutFlags } from "./commands/rollout.ts";

type Entry = string | ((program: Command, into: Into) => void);

/** A command of an operation that is not named here comes last below its heading. */
const HEADINGS: Readonly<Record<string, readonly Entry[]>> = {
  Projects: [addProjects],
  Runs: ["start", addServing],
  Steering: [
    "send",
    "approvals",
    "approve",
    "deny",
    "answer",
    "reconcile",
    "signal",
    "pause",
    "resume",
    "cancel",
    "restart",
    "fork",
    "redrive",
    "assign",
    "purge",
  ],
  Inspecting: ["list", "agents", "schedules", "show", "timeline", "ledger", "cost", "diagnose", "verify", "watch"],
  Recordings: ["export", "file", "replay", "snapshot", "pin"],
  Memory: ["memory list", "memory search", "memory show", "memory forget"],
  Webhooks: ["webhooks list", "webhooks redeliver"],
  Access: ["audit-log", "token create", "token list", "token revoke"],
  Backups: [addBackups, "checked", "restored"],
  Checking: [addChecking],
};

/** The commands that have commands below them. */
const PARENTS: Readonly<Record<string, string>> = {
  memory: "list, search, show and forget what agents keep between runs",
  webhooks: "list webhook endpoints, and send them again what they refused",
  token: "make, list and revoke access tokens for the HTTP API",
};

export function addCommands(program: Command, into: Into, commands: readonly TypedCommand[]): void {
  for (const heading of new Set([...Object.keys(HEADINGS), ...commands.map(({ group }) => group)])) {
    program.commandsGroup(`${heading}:`);
    const named = HEADINGS[heading] ?? [];
    const more = commands.filter(({ command, group }) => group === heading && !named.includes(command));
    for (const entry of named) {
      if (typeof entry === "function") entry(program, into);
      else
        addOne(
          program,
          into,
          commands.find(({ command }) => command === entry),
        );
    }
    for (const typed of more) addOne(program, into, typed);
  }
}

function addOne(program: Command, { shell, ends }: Into, typed: TypedCommand | undefined): void {
  if (typed === undefined) return;
  const [first = "", second] = typed.command.split(" ");
  addTyped(second === undefined ? program : parentOf(program, first), typed, async (given) => {
    const load = HANDLERS[typed.command];
    if (load !== undefined) return ends((await load())(shell, given as never));
    return ends((await import("./derived-command.ts")).performTyped(shell, typed, given));
  });
}

const parentOf = (program: Command, name: string): Command =>
  program.commands.find((command) => command.name() === name) ?? program.command(name).description(PARENTS[name] ?? "");

/** The commands that write a backup of a store, and make a store from one. */
function addBackups(program: Command, { shell, ends }: Into): void {
  program
    .command("backup <file>")
    .description("write the embedded store to one new file, while its runs go on")
    .action(async (file: string, _, command: Command) =>
      ends((await import("./commands/backup.ts")).backUp(shell, { file, flags: command.optsWithGlobals() })),
    );
  program
    .command("restore <file>")
    .description("make an embedded store from a backup, in an empty place, and pause its runs")
    .action(async (file: string, _, command: Command) =>
      ends((await import("./commands/backup.ts")).restore(shell, { file, flags: command.optsWithGlobals() })),
    );
}

const SHELLS: readonly ShellName[] = ["bash", "zsh", "fish"];

/** The commands around a project: `init` writes a new one, `completion` completes commands in a shell. */
function addProjects(program: Command, { shell, ends }: Into): void {
  program
    .command("init <dir>")
    .description("write a new project with an agent, its tests and its config into an empty folder")
    .addOption(
      new Option(
        "--template <name>",
        "what the agent shows: tools and an approval, or also a page to chat, a schedule, or an undo",
      )
        .choices(["basic", "chat", "scheduled", "orders"])
        .default("basic"),
    )
    .option("--aws", "name the clients of AWS in package.json, which a deployment to AWS needs")
    .action(async (dir: string, _, command: Command) =>
      ends((await import("./commands/init.ts")).init(shell, { dir, flags: command.optsWithGlobals() })),
    );
  program
    .command("completion")
    .description("print a script with which a shell completes commands: source <(cairn completion bash)")
    .addArgument(new Argument("<shell>", "whose script to print").choices(SHELLS))
    .action(async (name: ShellName) =>
      ends(import("./commands/completion.ts").then(({ printCompletion }) => printCompletion(shell, program, name))),
    );
}

/**
 * The commands that drive the runs of a store until they are stopped: `work`, `serve` and `dev`. `mcp` serves a client.
 */
function addServing(program: Command, { shell, ends }: Into): void {
  driving(program, "work", "drive the runs of a store until stopped; only one process at a time may do so").action(
    async (_, command: Command) => {
      staySmall();
      await ends((await import("./commands/work.ts")).work(shell, command.optsWithGlobals()));
    },
  );
  listening(program, "serve", "drive the runs of a store, and serve the HTTP API and the console").action(
    async (_, command: Command) => {
      staySmall();
      const flags: ServeFlags = command.optsWithGlobals();
      await ends((await import("./commands/serve.ts")).serve(shell, { flags, version: program.version() ?? "" }));
    },
  );
  listening(program, "dev", "like serve, and take changed agent code without losing a run").action(
    async (_, command: Command) => ends((await import("./commands/dev.ts")).dev(shell, command.optsWithGlobals())),
  );
  program
    .command("mcp")
    .description(
      "serve the agents of the project, or of --api, as tools to one MCP client, over standard input and output",
    )
    .action(async (_, command: Command) =>
      ends((await import("./commands/mcp.ts")).mcp(shell, command.optsWithGlobals())),
    );
}

/**
 * Keeps the space for young objects at the 1 MB that it begins with. Loading cairn would let it grow to 32, of which a
 * process without work then keeps what was touched, 6 to 10. Beats have processes of their own.
 */
const staySmall = (): void => setFlagsFromString("--semi-space-growth-factor=1");

const driving = (program: Command, name: string, says: string): Command =>
  program
    .command(name)
    .description(says)
    .option(
      "--workers <n>",
      "worker processes (default: the config file, then one less than there are CPU cores)",
      wholeNumber(1, 1_000),
    )
    .option(
      "--beats-per-worker <n>",
      "beats of one agent that act in a worker at the same time, besides those that wait for their model (default: the config file, then 16)",
      wholeNumber(1, 1_000),
    )
    .option("--beat-seconds <seconds>", BEAT);

const listening = (program: Command, name: string, says: string): Command =>
  driving(program, name, says)
    .option("--port <port>", "the port of the HTTP API", wholeNumber(1, 65_535), 7_420)
    .addOption(
      new Option(
        "--host <address>",
        "the address at which it listens; serve also at others than this machine's own, such as 0.0.0.0, if each request needs a login",
      ).default("127.0.0.1"),
    );

/** The commands that check an agent and its environment before it runs in earnest. */
function addChecking(program: Command, { shell, ends }: Into): void {
  program
    .command("audit <agent>")
    .description(
      "show how each tool recovers when its process dies during a call, and which safeguards its agent lacks",
    )
    .option("--strict", "exit with 1 if a safeguard is missing")
    .option("--markdown", "print its tools as a Markdown table")
    .option("--beat-seconds <seconds>", BEAT)
    .action(async (agent: string, _, command: Command) =>
      ends((await import("./commands/audit.ts")).auditAgent(shell, { agent, flags: command.optsWithGlobals() })),
    );
  program
    .command("doctor")
    .description("check everything that runs need, and say how to fix what is wrong")
    .option("--production", "also check what a production deployment needs, and fail if it lacks something")
    .option("--whole-store", "also read all of a store in a file that is large: each page, and the row of each run")
    .option("--run <run>", "also check each stored field of this run: its bound, and that its events give it again")
    .option("--beat-seconds <seconds>", BEAT)
    .action(async (_, command: Command) =>
      ends(
        (await import("./commands/doctor.ts")).doctor(shell, {
          flags: command.optsWithGlobals(),
          version: program.version() ?? "",
        }),
      ),
    );
  program
    .command("rollout [version]")
    .description("on AWS: show the version of the beat function that new runs begin with, or move it to the newest")
    .option("--agent <name>", "the agent whose function to move, if each agent has a function of its own")
    .option("--to <percent>", "give that version this percentage of the new runs now", wholeNumber(0, 100))
    .option(
      "--steps <percents>",
      "raise the percentage in steps, such as 10,50,100; roll back when an alarm goes off",
      percents,
    )
    .option("--every-minutes <minutes>", "how long to watch the alarms after each step", wholeNumber(1, 1_440), 10)
    .option("--back", "give all new runs to the version that has most of them now")
    .action(async (target: string | undefined, _, command: Command) =>
      ends(
        (await import("./commands/rollout.ts")).rollout(shell, {
          version: target ?? null,
          flags: command.optsWithGlobals<RolloutFlags>(),
        }),
      ),
    );
  program
    .command("infra")
    .description("on AWS: list what a deployment of this project would make, without an account")
    .option("--dry-run", "bundle the functions, and say how large they are and what is missing")
    .action(async (_, command: Command) =>
      ends((await import("./commands/infra.ts")).infra(shell, command.optsWithGlobals())),
    );
  addChaos(program, { shell, ends });
}

/** Parses rising percentages of new runs, such as `10,50,100`. */
function percents(text: string): readonly number[] {
  const steps = text.split(",").map(Number);
  const areRising = steps.every((step, index) => index === 0 || step > (steps[index - 1] ?? 0));
  const areShares = steps.every((step) => Number.isInteger(step) && step >= 1 && step <= 100);
  if (areRising && areShares) return steps;
  throw new InvalidArgumentError("The steps are rising whole numbers from 1 to 100, such as 10,50,100.");
}

function addChaos(program: Command, { shell, ends }: Into): void {
  program
    .command("chaos <agent>")
    .description("kill an agent's processes during its tasks, and compare cairn with two plain loops")
    .option("--tasks <n>", "how many tasks", wholeNumber(1, 1_000), 30)
    .option("--seed <text>", "the same seed kills at the same moments", "1")
    .option("--every-edge", "run one task for each fault point of the protocol, instead of killing at random beats")
    .option("--input <json>", "a task: JSON, @file, or - for stdin; several are used in turn", collected)
    .option("--strategies <names>", "which strategies to compare", STRATEGIES.join(","))
    .option(
      "--beat-seconds <seconds>",
      "how long one beat may take, 0.5 to 900 (default: 10, or what the slowest tool needs)",
    )
    .option("--gates <decision>", "approve or deny every call that asks for approval, instead of decide of its file")
    .option(
      "--with-real-effects [tools]",
      "let tools without a stand-in act for real, instead of replacing them by fakes: type the names of all of them",
    )
    .option("--keep", "keep the stores, even if every task survived")
    .option("--markdown", "print the table as Markdown")
    .action(async (agent: string, _, command: Command) =>
      ends((await import("./commands/chaos.ts")).chaos(shell, { agent, flags: command.optsWithGlobals<ChaosFlags>() })),
    );
}

const collected = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];
