/** The console of a deployment, behind the API Gateway and in the Lambda of LocalStack. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { deploy } from "../../localstack/deploy.ts";
import { builtConsole } from "../../src/server/built-console.ts";
import { BEAT_SECONDS } from "./stacks.ts";

let api: string;

beforeAll(async () => {
  const config = {
    agents: [],
    beatSeconds: BEAT_SECONDS,
    access: { auth: "token" },
    deploy: { console: true },
  } as const;
  ({ api } = await deploy({ url: inject("stacks").url, stage: "console", config }));
});

test("is at the address of the API for everyone, with its policy and its files, and the API asks for a token", async () => {
  const folder = await builtConsole();
  const page = await fetch(`${api}/`);
  const text = await page.text();
  expect({ status: page.status, text }).toEqual({
    status: 200,
    text: readFileSync(join(folder, "index.html"), "utf8"),
  });
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("connect-src 'self'");
  expect(page.headers.get("cache-control")).toBe("no-cache");

  const [, script = ""] = /src="\.\/(console\/[^"]+\.js)"/.exec(text) ?? [];
  const answered = await fetch(`${api}/${script}`);
  expect(answered.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(answered.headers.get("cache-control")).toContain("immutable");
  expect(await answered.text()).toBe(readFileSync(join(folder, script), "utf8"));

  const runs = await fetch(`${api}/runs`);
  expect({ status: runs.status, body: await runs.json() }).toMatchObject({
    status: 401,
    body: { code: "Unauthenticated" },
  });
});
