/** The entry points of the package in the functions, and which imports of agents are refused. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { describe, expect, test } from "vitest";
import { filesForFunctions, refuseImports } from "../../infra/entry-points.ts";
import { importedIn } from "../slow/package/project-files.ts";
import { EVERY_ENTRY_POINT } from "../support/bundles/every-entry-point.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("each entry point of package.json has a file in the functions, or is one that no function can use", () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly exports: object };
  const files = filesForFunctions(ROOT);
  expect([...files.keys()].map((specifier) => specifier.replace("cairn-run", "."))).toEqual(Object.keys(exports));
  const refused = [...files].flatMap(([specifier, file]) => (file === null ? [specifier] : []));
  expect(refused).toEqual(["conformance", "server", "sst", "worker"].map((name) => `cairn-run/${name}`));
  for (const file of files.values()) expect(file === null || existsSync(file)).toBe(true);
});

test("the agent of the bundling tests imports each entry point that a function can use", () => {
  const usable = [...filesForFunctions(ROOT)].flatMap(([specifier, file]) => (file === null ? [] : [specifier]));
  expect(
    importedIn(EVERY_ENTRY_POINT)
      .map((path) => `cairn-run${path.slice(1)}`)
      .toSorted(),
  ).toEqual(usable.toSorted());
});

describe("an agent", () => {
  interface Imported {
    readonly path: string;
    readonly original?: string;
  }

  const SERVER = "@modelcontextprotocol/server";

  /** A bundle of `clerk.ts`, which imports `help.ts`; that one imports what is given. */
  function bundleOf(imported: readonly Imported[], left: readonly string[] = []): Metafile {
    const input = (imports: readonly Imported[]) => ({
      bytes: 1,
      imports: imports.map((each) => ({ ...each, kind: "import-statement" as const })),
    });
    const output = {
      bytes: 1,
      inputs: {},
      exports: [],
      imports: left.map((path) => ({ path, kind: "import-statement" as const, external: true })),
    };
    return {
      inputs: {
        "agents:cairn-agents": input([{ path: "clerk.ts", original: "/p/clerk.ts" }]),
        "clerk.ts": input([{ path: "help.ts", original: "./help.ts" }]),
        "help.ts": input(imported),
        "own/client.js": input([{ path: "own/mcp.js", original: "./mcp.js" }]),
        "own/mcp.js": input([{ path: SERVER }]),
      },
      outputs: { "index.mjs": output },
    };
  }

  const AGENTS = new Map([["/p/clerk.ts", ["clerk", "boss"]]]);
  const [CLIENT, MCP] = ["client", "mcp"].map((name) => ({ path: `own/${name}.js`, original: `cairn-run/${name}` }));

  test("is refused with the file that imports what no function can use", () => {
    expect(() => refuseImports(bundleOf([{ path: "cairn-run/worker" }]), AGENTS)).toThrow(
      "agent clerk, boss of /p/clerk.ts: help.ts imports cairn-run/worker, which cannot be deployed: " +
        "the functions of a deployment drive its runs; move the import to a file that the agent does not import",
    );
  });

  test("is refused with the package to install if its entry point loads one that is missing", () => {
    expect(() => refuseImports(bundleOf([MCP as Imported], [`${SERVER}/stdio`]), AGENTS)).toThrow(
      `agent clerk, boss of /p/clerk.ts: cairn-run/mcp needs the package ${SERVER}, which is not installed; ` +
        `type: npm install ${SERVER}`,
    );
  });

  test("is deployed if the package is there, or if only another part of cairn could load it", () => {
    expect(() => refuseImports(bundleOf([MCP as Imported], ["node:fs"]), AGENTS)).not.toThrow();
    expect(() => refuseImports(bundleOf([CLIENT as Imported], [SERVER]), AGENTS)).not.toThrow();
  });
});
