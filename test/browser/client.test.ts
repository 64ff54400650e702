/** The client in a real browser, over a real server. */
import { buildSync } from "esbuild";
import { join } from "node:path";
import { expect, test } from "vitest";
import { countMails, createCliFolder } from "../support/processes/cli-process.ts";
import { openPage, startServer } from "./harness.ts";

const PAGE = '<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>';

test("the client starts, follows, approves and names an error in a browser", async () => {
  const { at, url } = await startServer(createCliFolder());
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, "fixtures", "client-page.ts")],
    ...{ bundle: true, write: false, format: "esm", target: "es2022", platform: "browser" },
  });
  const program = outputFiles?.[0]?.text ?? "";
  const { page, troubles } = await openPage();
  await page.route(`${url}/page`, (route) => route.fulfill({ contentType: "text/html", body: PAGE }));
  await page.route(`${url}/page.js`, (route) => route.fulfill({ contentType: "text/javascript", body: program }));
  await page.goto(`${url}/page`);
  await page.waitForFunction("globalThis.used");
  const seen = (await page.evaluate("used()")) as { readonly events: number; readonly later: number };
  expect(seen).toMatchObject({ isSame: true, missing: "RunUnknown", result: expect.anything() });
  expect(seen.events).toBeGreaterThan(seen.later);
  expect(seen.later).toBeGreaterThan(0);
  expect(countMails(at)).toBe(1);
  // The request for a run that does not exist is the only one that failed.
  expect(troubles).toEqual([expect.stringMatching(/404.*\/runs\//)]);
});
