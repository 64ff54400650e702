/** The URL of `--api` and the token of `CAIRN_TOKEN`: what cannot be one is refused without repeating a secret. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { runCommand } from "../../src/cli/program.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

async function typed(words: readonly string[], token?: string) {
  const { shell, said } = createShell({ dir: ".", person: null }, words);
  const env = token === undefined ? shell.env : { ...shell.env, CAIRN_TOKEN: token };
  return { exit: await runCommand({ ...shell, env }, "0"), ...said };
}

/** A server that is none of cairn. */
async function strange(body: string): Promise<string> {
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([["cairn_abc\ndef_hidden"], ["cairn_hidden…"], ["cairn_a hidden"]])(
  "refuses %j as a token, and does not repeat it",
  async (token) => {
    const { exit, out, err } = await typed(["list", "--api", "http://127.0.0.1:1"], token);
    expect({ exit, out }).toEqual({ exit: 2, out: "" });
    expect(err).toMatch(/^error Usage: CAIRN_TOKEN holds no access token\nwhy: .*\nnext: export CAIRN_TOKEN=/);
    expect(err).not.toContain("hidden");
  },
);

test.each([["http://ada:hidden@127.0.0.1:1"], ["http://hidden@127.0.0.1:1"]])(
  "refuses the URL %s with a password in it, and does not repeat that",
  async (url) => {
    for (const words of [
      ["list", "--api", url],
      ["list", `--api=${url}`],
    ]) {
      const { exit, out, err } = await typed(words);
      expect({ exit, out }).toEqual({ exit: 2, out: "" });
      expect(err).toMatch(/^error Usage: .* is no URL of an API\nwhy: .*\nnext: npx cairn list --api http:\/\/127/);
      expect(err).not.toContain("hidden");
    }
  },
);

test.each([["http://127.0.0.1:1?x=1"], ["http://127.0.0.1:1/#runs"], ["ftp://127.0.0.1"], ["127.0.0.1:7420"]])(
  "refuses %s, which is no URL of an API",
  async (url) => {
    expect(await typed(["list", "--api", url])).toMatchObject({ exit: 2, err: expect.stringContaining(url) });
  },
);

test("a client repeats no token that cannot be sent", async () => {
  const client = await connect({ api: "http://127.0.0.1:1", token: "a\nhidden" });
  const error = await client.list().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "CairnError", code: "Unsendable", status: null });
  expect((error as Error).cause).toBeUndefined();
  expect(String((error as Error).stack)).not.toContain("hidden");
});

test.each([
  ["a page", "<html>log in</html>"],
  ["the document of something else", '{"ok":true}'],
  ["null", "null"],
])("says that %s is no answer of cairn, for every kind of answer", async (_, body) => {
  const api = await strange(body);
  const run = `local-${"a".repeat(26)}`;
  for (const words of [
    ["list"],
    ["show", run],
    ["start", "letter"],
    ["timeline", run],
    ["send", run, "hi"],
    ["agents"],
  ]) {
    const { exit, err } = await typed([...words, "--api", api]);
    expect({ command: words[0], exit, err }).toEqual({
      command: words[0],
      exit: 5,
      err: expect.stringMatching(/^error Unexplained: .*\nwhy: .*\nnext: curl /),
    });
  }
});

test.each([
  [["memory", "list", "desk", "--tenant", "acme"], "memory list desk"],
  [["show", "local-abcdef", "--store=/x", "--json"], "show local-abcdef --json"],
  [["redrive", "local-abcdef", "--why", "it is back", "--by", "ada"], "redrive local-abcdef --why 'it is back'"],
])("suggests %j without the option that means nothing to an API", async (words, rest) => {
  const { exit, out, err } = await typed([...words, "--api", "http://ada:hidden@127.0.0.1:1"]);
  const next = `npx cairn ${rest} --api http://127.0.0.1:1`;
  expect({ exit, printed: out + err }).toEqual({
    exit: 2,
    printed: expect.stringContaining(words.includes("--json") ? `"next": "${next}"` : `next: ${next}`),
  });
  expect(out + err).not.toContain("hidden");
});

test.each([
  [["token", "list"], "token list", "npx cairn token list --help"],
  [["checked", "--all"], "checked --all", "npx cairn checked --help"],
  [["doctor"], "doctor", "npx cairn doctor --help"],
])("names the command %j, which has no route, and its help", async (words, name, next) => {
  const { exit, err } = await typed([...words, "--api", "http://127.0.0.1:1"]);
  expect({ exit, err }).toEqual({
    exit: 2,
    err: expect.stringContaining(`\`cairn ${name}\` does not work over HTTP\n`),
  });
  expect(err).toContain(`\nnext: ${next}\n`);
});
