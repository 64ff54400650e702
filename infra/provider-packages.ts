/**
 * The packages of model providers in the functions. They are optional: a bundle holds those that the project of the
 * agents has, each in a file that is loaded with the first request. An import of any other stays as it is.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Plugin } from "esbuild";
import type { Agent } from "../src/ports/agent.ts";
import { awsPackagesMissing } from "../src/ports/aws-packages.ts";
import { ModelNotReady, PROVIDER_PACKAGES, namedModelsOf, packageMissing } from "../src/ports/named-models.ts";

/** The client of MCP servers, which `cairn-run/mcp-tools` loads with the first connection. */
const MCP_CLIENT = "@modelcontextprotocol/client(/.+)?";

/** The project's own version of a provider comes before one that cairn finds beside itself. */
export const providerPackages = (root: string): Plugin => ({
  name: "provider-packages",
  setup: (esbuild) => {
    const filter = new RegExp(`^(${[...PROVIDER_PACKAGES, MCP_CLIENT].join("|")})$`);
    esbuild.onResolve({ filter }, async ({ path, kind, resolveDir, pluginData }) => {
      if (pluginData === "resolving") return null;
      for (const from of [root, resolveDir]) {
        const found = await esbuild.resolve(path, { kind, resolveDir: from, pluginData: "resolving" });
        if (found.errors.length === 0) return { path: found.path, namespace: found.namespace };
      }
      return { path, external: true };
    });
  },
});

/**
 * Throws `ModelNotReady` for a model of the agent whose package none of the folders in `roots` has. So a deployment says
 * it, and no run has to wait for it.
 */
export function requirePackages(
  agent: Agent,
  { roots, file }: { readonly roots: readonly string[]; readonly file: string },
): void {
  const missing = namedModelsOf(agent).find(({ package: name }) => name !== null && !roots.some(has(name)));
  if (missing === undefined) return;
  const { message, code, next } = packageMissing(missing);
  throw new ModelNotReady(`agent ${agent.name} of ${file}: ${message}`, { code, next });
}

/** Throws if the functions need a client of AWS that none of the folders in `roots` has. */
export function requireClients(roots: readonly string[]): void {
  const missing = awsPackagesMissing("a deployment to AWS", (name) => roots.some(has(name)));
  if (missing !== null) throw new Error(`${missing.code}: ${missing.what}: ${missing.why}; type: ${missing.next}`);
}

const has =
  (name: string) =>
  (root: string): boolean => {
    try {
      createRequire(join(root, "package.json")).resolve(name);
      return true;
    } catch {
      return false;
    }
  };
