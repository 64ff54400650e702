/** The oldest Node that cairn runs on. The binary checks it before it loads anything else. */
export const NODE_MIN = "22.18";

/** Whether this version of Node, such as `20.1.0`, is too old: it lacks SQLite, or does not run TypeScript. */
export function isNodeTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = NODE_MIN.split(".").map(Number);
  return major < majorMin || (major === majorMin && minor < minorMin);
}
