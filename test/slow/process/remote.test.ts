/** The command line over HTTP: `--api URL` with an access token, against a real `cairn serve`. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import {
  type CliFolder,
  createCliFolder,
  parseJsonLines,
  runCairn,
  runCairnJson,
  spawnCairn,
  stepsInput,
  waitForOutput,
} from "../../support/processes/cli-process.ts";

/** A port that is free now. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function tokenFor(at: CliFolder, ...words: readonly string[]): Promise<string> {
  return String((await runCairnJson(at, ["token", "create", ...words]))["secret"]);
}

it("starts, follows, lists and steers runs of the token's tenant, and refuses by name what has no route", async () => {
  const at = createCliFolder();
  const all = await tokenFor(at, "--scopes", "runs:read,runs:write,approve,admin");
  const other = await tokenFor(at, "--scopes", "runs:read", "--tenant", "other");
  const port = await freePort();
  const running = spawnCairn(at, ["serve", "--port", String(port), "--workers", "1"]);
  const url = `http://127.0.0.1:${port}`;
  await waitForOutput(running, url);

  const type = (token: string, ...words: readonly string[]) =>
    runCairn({ ...at, env: { ...at.env, CAIRN_TOKEN: token } }, [...words, "--api", url, "--json"], { bare: true });
  const documentOf = ({ out }: { readonly out: string }) => JSON.parse(out) as Record<string, unknown>;

  const started = await type(all, "start", "clerk", "--input", stepsInput("mail"), "--key", "k1");
  const run = String(documentOf(started)["run"]);
  expect(documentOf(await type(all, "start", "clerk", "--input", stepsInput("mail"), "--key", "k1"))).toMatchObject({
    ...{ run, started: false },
  });
  const watched = await type(all, "watch", run);
  expect({ exit: watched.exit, last: parseJsonLines(watched.out).at(-1) }).toMatchObject({
    exit: 0,
    last: { kind: "RunEnded" },
  });
  expect(documentOf(await type(all, "show", run))).toMatchObject({ run, status: "completed" });
  expect(parseJsonLines((await type(all, "timeline", run)).out)).toEqual(parseJsonLines(watched.out));
  expect(parseJsonLines((await type(all, "ledger", run)).out)).toMatchObject([{ tool: "mail", status: "succeeded" }]);
  expect(parseJsonLines((await type(all, "list")).out)).toMatchObject([{ run }]);
  const late = await type(all, "send", run, "hello");
  expect({ exit: late.exit, error: documentOf(late)["error"] }).toMatchObject({ exit: 4, error: { code: "Late" } });
  expect(parseJsonLines((await type(all, "audit-log", run)).out).length).toBeGreaterThan(0);

  const stranger = await type(other, "show", run);
  expect({ exit: stranger.exit, error: documentOf(stranger)["error"] }).toMatchObject({
    exit: 3,
    error: { code: "RunUnknown" },
  });
  const scopeless = await type(other, "pause", run);
  expect({ exit: scopeless.exit, error: documentOf(scopeless)["error"] }).toMatchObject({
    exit: 4,
    error: { code: "ScopeMissing" },
  });
  const anonymous = await type("", "list");
  expect({ exit: anonymous.exit, error: documentOf(anonymous)["error"] }).toMatchObject({
    exit: 4,
    error: { code: "Unauthenticated" },
  });
  const local = await type(all, "token", "list");
  expect({ exit: local.exit, error: documentOf(local)["error"] }).toMatchObject({
    exit: 2,
    error: { code: "NoRoute" },
  });
  const both = await type(all, "list", "--store", at.store);
  expect({ exit: both.exit, error: documentOf(both)["error"] }).toMatchObject({ exit: 2, error: { code: "Usage" } });
});
