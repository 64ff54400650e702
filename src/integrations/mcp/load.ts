/** Loads what uses the SDK of MCP. It is an optional peer, so a project without MCP does not install it. */
import { CairnError } from "../../client/errors.ts";

export async function loadMcp<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    const [, missing] = /'(@modelcontextprotocol\/[^']+)'/.exec(isMissing ? cause.message : "") ?? [];
    if (missing === undefined) throw cause;
    throw new CairnError(
      `MCP needs the package ${missing}, which is not installed; type: npm install @modelcontextprotocol/server`,
      { code: "PackageMissing", status: null, facts: { missing }, cause },
    );
  }
}
