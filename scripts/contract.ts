/**
 * `npm run contract`: tests the HTTP API against its OpenAPI document with Schemathesis, which makes valid and invalid
 * requests from the document. It starts `cairn serve` over a store with runs in every state that the example agents reach,
 * and asks it with an access token. Any 5xx, undocumented answer, or accepted invalid request fails.
 *
 * Schemathesis is a Python program. It is installed on first use, into a virtual environment below `~/.cache/cairn`.
 * `--examples N`: how many requests it makes at most for each operation and phase (default 20), always the same ones.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CHAT_ROUTES } from "../src/api/chat/routes.ts";
import { routesOf } from "../src/api/routes.ts";
import { ROWS } from "../src/operations/table.ts";

const ROOT = join(import.meta.dirname, "..");
const VERSION = "4.32.5";
const HOME = join(homedir(), ".cache", "cairn", `schemathesis-${VERSION}`);
const PROGRAM = join(HOME, "bin", "st");
const MAIN = join(ROOT, "src", "cli", "main.ts");
const SEED = "1";
const STREAM_SECONDS_MAX = "30";

const { values } = parseArgs({ options: { examples: { type: "string", default: "20" } } });

/** Runs a command to its end and returns its output. */
function run(...[name = "", ...words]: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(name, words, { cwd: ROOT, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`${name} ${words.join(" ")} failed: ${error?.message ?? ""}${stdout}${stderr}`);
}

function install(): void {
  if (existsSync(PROGRAM)) return;
  try {
    makeEnvironment();
  } catch {
    // A fresh Debian has Python without its module `venv`, or no Python.
    const prefix = process.getuid?.() === 0 ? [] : ["sudo"];
    const apt = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"] as const;
    for (const words of [["update"], ["install", "--yes", "python3-venv"]]) run(...apt, ...words);
    makeEnvironment();
  }
  run(join(HOME, "bin", "pip"), "install", "--quiet", `schemathesis==${VERSION}`);
}

function makeEnvironment(): void {
  rmSync(HOME, { recursive: true, force: true });
  run("python3", "-m", "venv", HOME);
}

/** The URL at which the server listens, from its first JSON line. The rest of its output is read and dropped. */
function listening(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stdout?.on("data", (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(0, 10_000);
      const line = said.split("\n").find((each) => each.includes('"listening"') && each.endsWith("}"));
      if (line !== undefined) resolve((JSON.parse(line) as { readonly url: string }).url);
    });
    server.once("close", () => reject(new Error(`cairn serve ended: ${said}`)));
  });
}

/** A port that is free now. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const place = server.address();
      server.close(() => resolve(typeof place === "object" && place !== null ? place.port : 0));
    });
  });
}

/** Runs that complete, wait for an approval, or stay queued: their agents and tasks. */
const RUNS: readonly (readonly [agent: string, task: object])[] = [
  ["travel", { from: "Hamburg", to: "Lisbon" }],
  ["event", { team: "gardeners" }],
  ["invoice", { text: "Invoice 7: 3 lamps, 60 euros each, due 2026-12-01." }],
];

/** A schema, as far as it is asked here. */
interface Schema {
  readonly safeParse: (value: unknown) => { readonly success: boolean };
}

const isAnyJson = (field: Schema): boolean => [1, "text", null, [], {}].every((each) => field.safeParse(each).success);

/** The operations with a field of their body that takes any JSON. */
const OPERATIONS_WITH_ANY_JSON = routesOf(ROWS).flatMap(({ operationId = "", request }) => {
  const taken = request?.body?.content?.["application/json"];
  const schema = taken !== undefined && "schema" in taken ? taken.schema : null;
  const fields = schema !== null && "shape" in schema ? Object.values(schema.shape as Record<string, Schema>) : [];
  return fields.some(isAnyJson) ? [operationId] : [];
});

/** The operations whose body is that of a chat protocol. */
const CHAT_OPERATIONS = CHAT_ROUTES.flatMap(({ operationId = "", request }) =>
  request?.body === undefined ? [] : [operationId],
);

async function main(): Promise<number> {
  install();
  const dir = mkdtempSync(join(tmpdir(), "cairn-contract-"));
  const cairn = (...words: readonly string[]) => run(process.execPath, MAIN, ...words, "--json", "--store", dir);
  const runs = RUNS.map(([agent, task]) => {
    const { run: id } = JSON.parse(cairn("start", agent, "--input", JSON.stringify(task))) as { readonly run: string };
    return id;
  });
  writeFileSync(join(dir, "schemathesis.toml"), settingsFor(runs[0] ?? ""));
  const { secret } = JSON.parse(cairn("token", "create", "--scopes", "runs:read,runs:write,approve,admin")) as {
    readonly secret: string;
  };
  const serve = [MAIN, "serve", "--json", "--store", dir, "--port", String(await freePort())];
  const server = spawn(process.execPath, serve, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await listening(server);
    const document = `${url}/openapi.json`;
    const words = ["run", document, "--header", `Authorization: Bearer ${secret}`];
    const bounds = ["--max-examples", values.examples, "--seed", SEED, "--generation-deterministic"];
    // A stream that does not end is a failure, not a run of this script without an end.
    bounds.push("--request-timeout", STREAM_SECONDS_MAX);
    const tester = spawn(PROGRAM, [...words, ...bounds, "--no-color"], { cwd: dir, stdio: "inherit" });
    return await new Promise((resolve) => tester.once("close", (code) => resolve(code ?? 1)));
  } finally {
    const ended = new Promise((resolve) => server.once("close", resolve));
    if (server.exitCode === null) {
      server.kill("SIGTERM");
      await ended;
    }
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * The document cannot say what the task of an agent is, nor which numbers JavaScript would change: those are refused in
 * any JSON. So valid requests of the operations that take any JSON may be refused. All other checks hold for them. The
 * servers read the body of a chat protocol field by field, so they also take bodies that the document does not allow.
 */
const settingsFor = (id: string): string => `[parameters]
"path.run" = ${JSON.stringify(id)}
"path.agent" = "travel"

[checks]
enabled = true

[[operations]]
include-operation-id = ${JSON.stringify(OPERATIONS_WITH_ANY_JSON)}
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = ${JSON.stringify(CHAT_OPERATIONS)}
checks.positive_data_acceptance.enabled = false
checks.negative_data_rejection.enabled = false
`;

process.exitCode = await main();
