/** `cairn doctor` asks the server of each model of one's own whether it is there. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { runCli, runCliAt } from "../support/processes/cli-in-process.ts";
import { clerkProject } from "./clerk-project.ts";

async function modelServer() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    // It wants a key first, and is there all the same.
    response.writeHead(401).end("{}");
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  onTestFinished(() => (server.listening ? stop() : undefined));
  return { asked, stop, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

test("says of the server of a model whether it answers, once for all that name it, and nothing of other models", async () => {
  const { asked, stop, address } = await modelServer();
  const of = `version: "1", instructions: "", task: z.object({}), tools: {}`;
  const { dir } = await clerkProject(
    `import { defineAgent, scriptedModel } from "cairn-run";
    import { z } from "zod";
    export const clerk = defineAgent({ name: "clerk", ${of}, model: "openai-compatible:${address}#small" });
    export const judge = defineAgent({ name: "judge", ${of}, model: "openai-compatible:${address}#large" });
    export const hosted = defineAgent({ name: "hosted", ${of}, model: "openai:gpt-5" });
    export const other = defineAgent({ name: "other", ${of}, model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }) });
    `,
    {},
  );
  const found = async (): Promise<unknown> => {
    const { out } = await runCliAt({ dir, person: null, env: { OPENAI_BASE_URL: address } }, "doctor", "--json");
    const { checks } = JSON.parse(out) as { readonly checks: readonly { readonly id: string }[] };
    return checks.find(({ id }) => id === "models");
  };
  expect(await found()).toMatchObject({ status: "ok", why: address, mend: null });
  expect(asked).toEqual(["GET /v1/models"]);
  await stop();
  expect(await found()).toMatchObject({
    status: "warn",
    why: expect.stringMatching(`no answer from ${address} of clerk, judge, hosted: .*ECONNREFUSED`) as string,
    mend: expect.stringContaining("start that server") as string,
  });
});

test("has no such check where each model has the address of its provider", async () => {
  const { dir } = await clerkProject(
    `import { defineAgent, scriptedModel } from "cairn-run";
    import { z } from "zod";
    export const clerk = defineAgent({ name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {}, model: scriptedModel({ name: "m", reply: () => ({ text: "" }) }) });
    `,
    {},
  );
  expect((await runCli(dir, "doctor", "--json")).out).not.toContain('"models"');
});
