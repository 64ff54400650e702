/**
 * The README as the package has it. The package holds few of the files that the README links to, so a link to another
 * file leads to the repository, or, without an address of one, becomes plain text. Otherwise a reader follows it nowhere.
 */

interface Where {
  /** Whether the package has this file. */
  readonly has: (path: string) => boolean;
  /** The field `repository` of package.json. */
  readonly repository?: unknown;
}

const LINK = /(!?)\[([^[\]]+)\]\(([^)\s]+)\)/g;
const FENCE = /(^```[^]*?^```$)/m;

export function packedReadme(text: string, { has, repository }: Where): string {
  const address = addressOf(repository);
  const relinked = (prose: string): string =>
    prose.replaceAll(LINK, (link: string, image: string, label: string, target: string) => {
      const [path = ""] = target.split("#");
      if (path === "" || /^[a-z]+:/.test(target) || has(path)) return link;
      return address === null
        ? label
        : `${image}[${label}](${address}/${image === "" ? "blob" : "raw"}/HEAD/${target})`;
    });
  return text
    .split(FENCE)
    .map((part) => (part.startsWith("```") ? part : relinked(part)))
    .join("");
}

/** Where a browser finds the repository; null if package.json names none. */
function addressOf(repository: unknown): string | null {
  const named =
    typeof repository === "object" && repository !== null && "url" in repository ? repository.url : repository;
  if (typeof named !== "string") return null;
  const url = named.replace(/^git\+/, "").replace(/\.git$/, "");
  if (url.startsWith("https://")) return url;
  const [, path] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(url) ?? [];
  return path === undefined ? null : `https://github.com/${path}`;
}
