/** The commands that drive the runs of a store until they are stopped: `work`, `serve` and `dev`. `mcp` serves a client. */
import { setFlagsFromString } from "node:v8";
import { type Command, Option } from "commander";
import type { ServeFlags } from "./commands/serve.ts";
import { BEAT, type Into, wholeNumber } from "./arguments.ts";

export function addServing(program: Command, { shell, ends }: Into): void {
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
