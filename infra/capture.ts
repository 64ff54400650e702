/**
 * Lists all resources that a deployment would request, without AWS. It runs the description with the real components of
 * SST, and records what reaches the engine instead of creating it.
 *
 * Answers of AWS are simulated: ARNs are composed in AWS's format, and values that only AWS knows become references to
 * a resource and attribute (`@{Api.id}`).
 *
 * Each capture is a separate process, because the components keep state and read their app and stage from globals.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Plugin, build } from "esbuild";
import type { Place } from "./names.ts";
import type { CairnOptions } from "./options.ts";
import type { Component, Plan } from "./plan.ts";

/** A resource that the deployment requests. */
export interface Resource {
  /** The engine's name of the type, such as `aws:dynamodb/table:Table`. */
  readonly type: string;
  /** The resource's name in the description; unique within its type. */
  readonly name: string;
  readonly inputs: { readonly [input: string]: unknown };
  /** Whether it stays when the deployment is removed. */
  readonly isRetained: boolean;
  /** Inputs that only the first deployment sets; later ones leave them as they are. */
  readonly ignored: readonly string[];
}

/** The result of a capture. */
export interface Capture {
  /** The resources. Each comes after those that it refers to. */
  readonly resources: readonly Resource[];
  /** What the description prints for its operator; may contain references. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** What is captured: components with finished plans, or the `sst.config.ts` of a project. */
export type Captured =
  | {
      readonly plan: Plan;
      /** Options of the component `Cairn`. */
      readonly options?: CairnOptions;
      /** More components of the same app and stage. */
      readonly others?: readonly Component[];
    }
  | {
      /** The folder of `sst.config.ts`, absolute. */
      readonly project: string;
    };

export type CaptureOptions = Captured & CaptureSettings;

interface CaptureSettings {
  readonly app: string;
  readonly stage: string;
  readonly place: Place;
  /** Answers to look-ups, in place of the simulated ones, by their token. */
  readonly answers?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The folder in which the archives of the functions are kept, absolute; absent: they are deleted on return. */
  readonly archives?: string;
}

const ROOT = join(import.meta.dirname, "..");
const PLATFORM = join(ROOT, ".sst", "platform");

/** The folder that `sst install` writes. Throws with the command to type if it is missing. */
function platform(): string {
  if (existsSync(join(PLATFORM, "node_modules", "@pulumi", "aws"))) return PLATFORM;
  throw new Error("the platform of SST is not installed here; install it: npm run infra:install");
}

/** Captures a deployment. Rejects if the platform of SST is not installed. */
export async function capture(options: CaptureOptions): Promise<Capture> {
  const work = join(platform(), "cairn");
  mkdirSync(work, { recursive: true });
  const folder = mkdtempSync(join(work, "capture-"));
  try {
    const program = await compiled(folder, options);
    const [wanted, found] = [join(folder, "wanted.json"), join(folder, "found.json")];
    writeFileSync(wanted, JSON.stringify(options));
    const { isDone, said } = await ran(program, wanted, found);
    if (!isDone || !existsSync(found)) throw new Error(`the description failed:\n${said}`.slice(0, 8_000));
    return JSON.parse(readFileSync(found, "utf8")) as Capture;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function ran(...words: readonly string[]): Promise<{ readonly isDone: boolean; readonly said: string }> {
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    // The engine looks for its language's settings here, and for nothing else.
    env: { ...process.env, PULUMI_TEST_MODE: "true", NODE_NO_WARNINGS: "1" },
  });
  const status = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [code, ...said] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  return { isDone: code === 0, said: said.join("") };
}

/** Compiles the description as SST does: with its globals, and with the packages of its platform. */
async function compiled(folder: string, options: CaptureOptions): Promise<string> {
  const outfile = join(folder, "describe.mjs");
  const globals = globalsOf(options, options.archives ?? folder);
  const project = "project" in options ? options.project : null;
  await build({
    entryPoints: [join(ROOT, "infra", "recorder.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    plugins: [projectPlugin(project)],
    inject: [join(PLATFORM, "src", "shim", "run.js")],
    alias: {
      "sst-components": join(PLATFORM, "src", "components", "index.ts"),
      "sst-auto": join(PLATFORM, "src", "auto", "run.ts"),
    },
    banner: {
      js: `import{createRequire as cjs}from"node:module";const require=cjs(import.meta.url);Object.assign(globalThis,${JSON.stringify(globals)});`,
    },
    logLevel: "error",
  });
  return outfile;
}

/**
 * Packages stay imports of the platform's, but SST compiles the packages of a project into its description. So that is
 * where its globals are.
 */
const projectPlugin = (project: string | null): Plugin => ({
  name: "project",
  setup: (esbuild) => {
    const planned = join(ROOT, "infra", "planned-components.ts");
    esbuild.onResolve({ filter: /^captured-description$/ }, ({ path }) =>
      project === null ? { path: planned } : { path, namespace: "project" },
    );
    esbuild.onLoad({ filter: /.*/, namespace: "project" }, () => ({
      contents: 'import config from "./sst.config.ts"; export const run = () => config.run();',
      resolveDir: project ?? ROOT,
    }));
    esbuild.onResolve({ filter: /^[^./]/ }, ({ path, resolveDir, pluginData }) => {
      const isOfProject = project !== null && (resolveDir === project || resolveDir.startsWith(`${project}/`));
      if (pluginData === "resolving" || /^(sst-|captured-)/.test(path)) return null;
      if (!isOfProject || path.startsWith("node:") || path.startsWith("@pulumi/")) return { path, external: true };
      return esbuild.resolve(path, { resolveDir, kind: "import-statement", pluginData: "resolving" });
    });
  },
});

/** The globals of SST. Components read some of them during their import. */
function globalsOf(options: CaptureOptions, work: string): object {
  const { app, stage } = options;
  const root = "project" in options ? options.project : ROOT;
  const isProduction = stage === "production";
  return {
    $app: { name: app, stage, removal: isProduction ? "retain" : "remove", protect: isProduction },
    $dev: false,
    $cli: { command: "deploy", rpc: "", home: "aws", paths: { home: work, root, work, platform: PLATFORM } },
  };
}
