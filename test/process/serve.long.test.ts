/** `cairn serve` and `cairn dev` as real processes: runs survive kills, changed code and broken code. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type CliFolder,
  type CliProcess,
  LONG_TIMEOUTS,
  countMails,
  createCliFolder,
  freePort,
  openGate,
  parseJsonLines,
  runCairn,
  runCairnJson,
  spawnCairn,
  waitForOutput,
} from "../support/processes/cli-process.ts";
import { waitUntil } from "../support/gate/safety.ts";

interface Served {
  readonly at: CliFolder;
  readonly running: CliProcess;
  readonly url: string;
}

async function served(command: "serve" | "dev", changed = (clerk: string): string => clerk): Promise<Served> {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "clerk.ts"), changed(readFileSync(join(at.dir, "clerk.ts"), "utf8")));
  const port = await freePort();
  const running = spawnCairn(at, [command, "--port", String(port), "--workers", "1"]);
  const url = `http://127.0.0.1:${port}`;
  await waitForOutput(running, url);
  return { at, running, url };
}

type Document = Readonly<Record<string, unknown>>;

const get = async (url: string): Promise<Document> => (await (await fetch(url)).json()) as Document;

async function begin({ url }: Served, ...steps: readonly string[]): Promise<string> {
  const body = JSON.stringify({ agent: "clerk", input: { steps } });
  const headers = { "content-type": "application/json" };
  const answered = await fetch(`${url}/runs`, { method: "POST", headers, body });
  const { run } = (await answered.json()) as Document;
  expect({ status: answered.status, runType: typeof run }).toEqual({ status: 202, runType: "string" });
  return String(run);
}

/** Waits for that status, also while the server restarts. */
const ends = ({ url }: Served, run: string, status: string): Promise<void> =>
  waitUntil(async () => expect(await get(`${url}/runs/${run}`)).toMatchObject({ status }));

describe("serve", () => {
  it("starts, follows and completes a run over HTTP although its worker is killed, and stops cleanly", async () => {
    const server = await served("serve");
    const { at, running, url } = server;
    const run = await begin(server, "mail", "gate");
    const stream = await fetch(`${url}/runs/${run}/events`, { headers: { accept: "text/event-stream" } });
    await waitForOutput(running, /→ worker pid (\d+)/);
    await waitUntil(async () => expect(JSON.stringify(await get(`${url}/runs/${run}/ledger`))).toContain('"gate"'));
    const [, pid] = /→ worker pid (\d+)/.exec(running.out()) ?? [];
    process.kill(Number(pid), "SIGKILL");
    openGate(at);
    await ends(server, run, "completed");
    expect(countMails(at)).toBe(1);
    expect(await stream.text()).toContain('event: end\ndata: {"status":"completed"}');
    expect(await (await fetch(url)).text()).toContain("<title>cairn</title>");
    running.child.kill("SIGTERM");
    const { exit, out } = await running.ended;
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("type `npx cairn serve") });
  });

  it("listens at another address than this machine's own only once each request needs a token", async () => {
    const at = createCliFolder(LONG_TIMEOUTS);
    const port = await freePort();
    const words = ["serve", "--host", "127.0.0.2", "--port", String(port), "--workers", "1"];
    const refused = await runCairn(at, words);
    expect(refused).toMatchObject({ exit: 4, err: expect.stringContaining("error LoginRequired") });
    const made = await runCairn(at, /npx cairn (.*--name first)/.exec(refused.err)?.[1]?.split(" ") ?? []);
    const [, token = ""] = /(cairn_\S+)/.exec(made.out) ?? [];
    await waitForOutput(spawnCairn(at, words), "each request needs an access token");
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`http://127.0.0.2:${port}/runs`, { headers })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
  });

  it("says so when its port is taken, and drives nothing", async () => {
    const { url } = await served("serve");
    const other = createCliFolder();
    const { exit, err } = await spawnCairn(other, ["serve", "--port", new URL(url).port]).ended;
    expect({ exit, err }).toEqual({ exit: 4, err: expect.stringContaining("error PortUnavailable:") });
    const dev = await spawnCairn(other, ["dev", "--port", new URL(url).port]).ended;
    expect(dev.err).toContain(`next: npx cairn dev --port ${Number(new URL(url).port) + 1}`);
  });
});

describe("dev", () => {
  const clerkIn = ({ at }: Served): string => join(at.dir, "clerk.ts");

  it("takes changed code, lets the beat under way end, and continues its run with the new code", async () => {
    const server = await served("dev");
    const { at, running } = server;
    const run = await begin(server, "mail", "gate", "note");
    await waitUntil(async () =>
      expect(JSON.stringify(await get(`${server.url}/runs/${run}`))).toContain('"phase":"Ex'),
    );
    await waitUntil(async () =>
      expect(JSON.stringify(await get(`${server.url}/runs/${run}/ledger`))).toContain('"tool":"gate"'),
    );
    const changed = readFileSync(clerkIn(server), "utf8")
      .replace('"noted step "', '"NOTED step "')
      .replace('version: "1"', 'version: "2"');
    writeFileSync(clerkIn(server), changed);
    await waitForOutput(running, "waiting for the workers to finish");
    openGate(at);
    await ends(server, run, "completed");
    expect(await get(`${server.url}/runs/${run}`)).toMatchObject({ agentVersion: "2" });
    expect(countMails(at)).toBe(1);
    running.child.kill("SIGTERM");
    const { exit, out } = await running.ended;
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("type `npx cairn dev") });
  });

  const REPLY_MS = 1_500;
  /**
   * Its model notes each request in `asked`, and replies a while after the file `answer` is there. A call that is given up
   * for changed code has ended by then.
   */
  const slowly = (code: string): string =>
    code.replace("reply: ({", "reply: async ({").replace(
      "const cost = {",
      `appendFileSync(here("asked"), "once ");
      while (!existsSync(here("answer"))) await wait(10);
      const cost = { delayMs: ${REPLY_MS},`,
    );
  const asked = ({ at }: Served): string =>
    existsSync(join(at.store, "asked")) ? readFileSync(join(at.store, "asked"), "utf8") : "";
  /** A run whose model is asked while code changes. */
  async function changedMeanwhile(): Promise<Served & { readonly run: string }> {
    const server = await served("dev", slowly);
    const run = await begin(server);
    await waitUntil(() => expect(asked(server)).toBe("once "));
    writeFileSync(clerkIn(server), readFileSync(clerkIn(server), "utf8").replace('version: "1"', 'version: "2"'));
    await waitForOutput(server.running, "waiting for the workers to finish");
    return { ...server, run };
  }

  it("gives up no model call for changed code", async () => {
    const server = await changedMeanwhile();
    writeFileSync(join(server.at.store, "answer"), "");
    await ends(server, server.run, "completed");
    expect(asked(server)).toBe("once ");
  });

  it("stops when it is asked to while it waits for a beat to end", async () => {
    const { running } = await changedMeanwhile();
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ exit: 0, out: expect.stringContaining("the workers finished in") });
  });

  it("names the process that ends both, also by kill -9: the one that drives the runs would start again", async () => {
    const { running, url } = await served("dev");
    const [, driver, watcher] = /^pid (\d+) supervises .+ `kill (\d+)`, its watcher$/m.exec(running.out()) ?? [];
    expect(Number(watcher)).toBe(running.child.pid);
    expect(driver).not.toBe(watcher);
    process.kill(Number(watcher), "SIGKILL");
    await waitUntil(async () => expect(await fetch(url).catch(() => "down")).toBe("down"));
  });

  it("goes on with the earlier code while a file is broken, and takes it once it is fixed", async () => {
    const server = await served("dev");
    const { running, url } = server;
    const code = readFileSync(clerkIn(server), "utf8");
    writeFileSync(clerkIn(server), `${code}\nthrow new Error("half written");\n`);
    await waitForOutput(running, /broken .*half written/);
    expect((await get(`${url}/healthz`))["status"]).toBe("ok");
    writeFileSync(clerkIn(server), code.replace('version: "1"', 'version: "3"'));
    await waitForOutput(running, "the server restarts when its beats are done");
    await waitUntil(() => expect(running.out().match(/the console and the API are at/g)).toHaveLength(2));
    const run = await begin(server, "note");
    await ends(server, run, "completed");
    expect(await get(`${url}/runs/${run}`)).toMatchObject({ agentVersion: "3" });
  });

  it("restarts a killed server, whose run goes on, and ends it when dev itself is killed", async () => {
    const server = await served("dev");
    const { at, running, url } = server;
    const run = await begin(server, "mail", "gate");
    const pidOf = (): number => Number(/pid (\d+) supervises/.exec(running.out())?.[1]);
    process.kill(pidOf(), "SIGKILL");
    await waitForOutput(running, "the server was killed and starts again");
    openGate(at);
    await ends(server, run, "completed");
    expect(countMails(at)).toBe(1);
    running.child.kill("SIGKILL");
    await waitUntil(() => expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed"));
  });
});

it("needs a token from the first one on, refuses a revoked one at once, and never opens again", async () => {
  const server = await served("serve");
  const { at, url } = server;
  const ask = async (path: string, secret?: string, method = "GET") => {
    const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    const answered = await fetch(`${url}${path}`, { method, headers });
    return [answered.status, ((await answered.json()) as Document)["code"] ?? null];
  };
  const run = await begin(server);
  expect(await ask(`/runs/${run}`)).toEqual([200, null]);
  const made = await runCairnJson(at, ["token", "create", "--scopes", "runs:read,runs:write", "--name", "ci"]);
  const [secret, token] = [String(made["secret"]), String(made["token"])];
  expect(await ask(`/runs/${run}`)).toEqual([401, "Unauthenticated"]);
  expect(await ask("/healthz")).toEqual([200, null]);
  expect(await ask(`/runs/${run}`, secret)).toEqual([200, null]);
  expect(await ask(`/runs/${run}`, secret, "DELETE")).toEqual([403, "ScopeMissing"]);
  await ask(`/runs/${run}/pause`, secret, "POST");
  const { out } = await runCairn(at, ["audit-log", run, "--json"]);
  expect(out).not.toContain(secret.split("_")[2]);
  const entries = parseJsonLines(out);
  expect(entries.map(({ operation }) => operation)).toEqual(["pause", "start"]);
  expect(entries[0]).toMatchObject({ actor: `access:${token} ci`, token });
  expect((await runCairn(at, ["token", "revoke", token])).exit).toBe(0);
  expect(await ask(`/runs/${run}`, secret)).toEqual([401, "TokenRevoked"]);
  expect(await ask(`/runs/${run}`)).toEqual([401, "Unauthenticated"]);
});
