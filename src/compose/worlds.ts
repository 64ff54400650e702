/**
 * The list of worlds, and the choice of one for a command: flag, environment, config, then the first of the list. To
 * add a world, add a line to this list.
 */
import type { Capability, ConfiguredWorld, WorldEntry, WorldProvider } from "../ports/world-provider.ts";
import type { Config } from "../sdk/config.ts";
import { UserError, EXIT } from "./user-error.ts";
import { retyped, retryAfter } from "../render/words.ts";
import type { StoreFlags, Surroundings } from "./surroundings.ts";

const STORE = "the directory of the store (default: CAIRN_STORE, then the config file, then .cairn)";

/** All worlds, the default first. */
export const WORLDS: readonly WorldEntry[] = [
  {
    name: "local",
    options: [{ name: "store", flags: "--store <dir>", says: STORE }],
    load: async () => (await import("./worlds/local.ts")).localProvider,
  },
  { name: "aws", options: [], load: async () => (await import("./worlds/aws.ts")).awsProvider },
];

interface Chosen {
  readonly flags: StoreFlags;
  readonly config: Config | null;
}

/** The world that the user selected. Throws a `UserError` if no world has that name. */
export async function providerOf(shell: Surroundings, { flags, config }: Chosen): Promise<WorldProvider> {
  const { env, worlds } = shell;
  const said = flags.world ?? (env["CAIRN_WORLD"] || config?.world) ?? worlds[0]?.name;
  const known = worlds.find(({ name }) => name === said);
  if (known !== undefined) return known.load();
  const why = `there are: ${worlds.map(({ name }) => name).join(", ")}`;
  const isVariable = flags.world === undefined && env["CAIRN_WORLD"];
  const next = isVariable ? "unset CAIRN_WORLD" : retyped(shell, "--world", worlds[0]?.name ?? "");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: `there is no world ${said}`, why, next });
}

/** The stores of that world that the user selected. Opens nothing. */
export function configuredIn(shell: Surroundings, provider: WorldProvider, { flags, config }: Chosen): ConfiguredWorld {
  const { env, cwd, argv } = shell;
  const configured = provider.configure({ env, cwd, options: optionsIn(flags), config: optionsIn(config ?? {}) });
  if (configured.kind === "configured") return configured.world;
  const { trouble } = configured;
  throw new UserError({ ...trouble, exit: EXIT.usage, next: trouble.next ?? retryAfter(argv, "correct that") });
}

/** The name of the first world with that capability, for a hint in an error. */
export async function worldThatCan({ worlds }: Pick<Surroundings, "worlds">, what: Capability): Promise<string> {
  const providers = await Promise.all(worlds.map(({ load }) => load()));
  return providers.find(({ can }) => can[what])?.name ?? "";
}

/** The settings that are texts, by name. */
export const optionsIn = (flags: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(flags).filter(([, value]) => typeof value === "string"));
