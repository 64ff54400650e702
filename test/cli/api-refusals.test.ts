/** What an API refuses without an outcome of its operation, in the words and with the exit codes of the command line. */
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../src/codec/canonical.ts";
import { runCommand } from "../../src/cli/program.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const RUN = `local-${"a".repeat(26)}`;

/** A server that answers every request with this problem, and notes what it was asked. */
async function refusing(status: number, problem: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ""} ${request.url ?? ""}`);
    response.writeHead(status, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const type = async (words: readonly string[], token = "cairn_1_2") => {
    const { shell, said } = createShell({ dir: ".", person: null }, [...words, "--api", api]);
    const exit = await runCommand({ ...shell, env: { ...shell.env, CAIRN_TOKEN: token } }, "0");
    return { exit, out: said.out, err: said.err.replaceAll(api, "API") };
  };
  return { asked, type };
}

test("says what of a request does not fit its schema, and where", async () => {
  const errors = [
    { pointer: "#/id", detail: "Too big: at most 512" },
    { header: "if-match", detail: "no token" },
  ];
  const detail = "the request does not match its schema: `errors` lists what is wrong and where";
  const { type } = await refusing(422, { code: "RequestInvalid", detail, errors });
  const { exit, err } = await type(["send", RUN, "hi"]);
  expect({ exit, err }).toEqual({
    exit: 2,
    err: expect.stringContaining("why: #/id: Too big: at most 512; if-match: no token\n"),
  });
});

test("does not take a body that is too large for a message that is too large", async () => {
  const { type } = await refusing(413, { code: "TooLarge", detail: "the body is too large: 9 bytes are accepted" });
  const { exit, err } = await type(["send", RUN, "hi"]);
  expect({ exit, err }).toEqual({
    exit: 2,
    err: expect.stringMatching(/^error TooLarge: the body is too large\nwhy: 9 bytes /),
  });
});

test("refuses as one without a right, if the server does not know the token", async () => {
  const { type } = await refusing(401, { code: "TokenUnknown", detail: "the access token is not known here: no" });
  expect(await type(["list"])).toMatchObject({ exit: 4, err: expect.stringContaining("\nnext: export CAIRN_TOKEN=") });
});

test("suggests to verify a run whose data cannot be read", async () => {
  const { type } = await refusing(500, { code: "Unreadable", detail: "the stored data cannot be read: no" });
  expect(await type(["show", RUN])).toMatchObject({
    exit: 5,
    err: expect.stringContaining(`cairn verify ${RUN} --api`),
  });
});

test("suggests a look at the health of an API that has no such path", async () => {
  const { type } = await refusing(404, { code: "PathUnknown", detail: "there is nothing at this path: look" });
  expect(await type(["list"])).toMatchObject({ exit: 3, err: expect.stringContaining("\nnext: curl -i API/healthz") });
});

test.each([
  ["file", RUN, "..", "--out", "x"],
  ["signal", RUN, ".."],
  ["schedules", "run", ".."],
  ["memory", "forget", ".", "--scope", "harbour", "--yes"],
  ["memory", "show", "..", "--scope", "harbour"],
])("sends nothing for `%s %s %s`, which would name another path", async (...words) => {
  const { type, asked } = await refusing(500, { code: "Unexpected", detail: "it was sent" });
  const { exit, err } = await type(words);
  expect({ exit, asked }).toEqual({ exit: 2, asked: [] });
  expect(err).toMatch(/^error Unsendable: the request cannot be sent\nwhy: no path has the \w+ "\.+"\nnext: /);
});

test("writes a file to the last part of the name that a server gives it", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-file-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const bytes = Buffer.from("ferries");
  const files = [{ file: sha256(bytes), name: "../../up.txt", mediaType: "text/plain", bytes: bytes.length }];
  const server = createServer((request, response) => {
    response.end(request.url?.includes("/files/") === true ? bytes : JSON.stringify({ run: RUN, files }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { shell, said } = createShell({ dir, person: null }, ["file", RUN, "up.txt", "--api", api]);
  expect({ exit: await runCommand(shell, "0"), err: said.err }).toEqual({ exit: 0, err: "" });
  expect(readFileSync(join(dir, "up.txt"), "utf8")).toBe("ferries");
});

test("says that no process works on a run which it follows, if the server knows of none", async () => {
  const shown = { run: RUN, status: "queued", label: "waiting for its first beat", resumable: true, files: [] };
  const page = { kind: "page", entries: [], next: 0, more: false, inProgress: true };
  const server = createServer((request, response) => {
    const { url = "" } = request;
    if (url.includes("/events")) response.end(JSON.stringify(page));
    else response.end(JSON.stringify(url === "/caller" ? { actor: "ada", attendant: null } : shown));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = new AbortController();
  const { shell } = createShell({ dir: ".", person: null }, ["watch", RUN, "--api", api]);
  const waited: (string | null)[] = [];
  const waitFor = (what: string | null): void => {
    waited.push(what);
    if (what !== null) stop.abort("SIGINT");
  };
  const terminal = { ...shell.terminal, waitFor };
  expect(await runCommand({ ...shell, terminal, stopSignal: () => stop.signal }, "0")).toBe(130);
  expect(waited).toContain("waiting for its first beat; no process works on it, type `npx cairn work`");
});
