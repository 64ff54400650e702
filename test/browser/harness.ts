/** A real Chromium for all tests, and a real server for the pages of each test. */
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { waitUntil } from "../support/gate/safety.ts";
import {
  type CliFolder,
  type CliProcess,
  freePort,
  spawnCairn,
  waitForOutput,
} from "../support/processes/cli-process.ts";

export interface OpenedPage {
  readonly page: Page;
  /** What the page printed as an error, with its address, or threw, and the requests that failed; in order. */
  readonly troubles: readonly string[];
}

/** All files share one process (`vitest.browser.config.ts`). Chromium ends with it, whose pipe it reads. */
let browser: Promise<Browser> | null = null;

function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error("there is no Chromium: type `npm run chromium`");
  // Chromium's sandbox needs namespaces, which root in a container lacks; /dev/shm of a container is small.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
  return chromium.launch({ executablePath, args, headless: true });
}

/**
 * Opens an empty page, which shares a browser with all other tests, and no cookie, storage or cache with them.
 * `context` sets size, colour scheme, locale and so on.
 */
export async function openPage(context: BrowserContextOptions = {}): Promise<OpenedPage> {
  const opened = await (await (browser ??= launch())).newContext(context);
  onTestFinished(() => opened.close());
  opened.setDefaultTimeout(LIMITS.eventMs);
  const page = await opened.newPage();
  const troubles: string[] = [];
  page.on("console", (line) => {
    if (line.type() === "error") troubles.push(`${line.text()} ${line.location().url}`.trim());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  return { page, troubles };
}

export interface Served {
  readonly at: CliFolder;
  readonly running: CliProcess;
  /** Such as `http://127.0.0.1:41234`. */
  readonly url: string;
}

/** Starts `cairn serve` or `cairn dev` in that folder, and waits until it answers. `port`: default is a free one. */
export async function startServer(at: CliFolder, command: "serve" | "dev" = "serve", port?: number): Promise<Served> {
  const taken = String(port ?? (await freePort()));
  const running = spawnCairn(at, [command, "--port", taken, "--workers", "1"]);
  const url = `http://127.0.0.1:${taken}`;
  await waitForOutput(running, url);
  return { at, running, url };
}

/** Waits until the document of the run has these fields. It works outside of a test too. */
export const waitForRun = (url: string, run: string, fields: object): Promise<void> =>
  waitUntil(async () => expect(await (await fetch(`${url}/runs/${run}`)).json()).toMatchObject(fields));
