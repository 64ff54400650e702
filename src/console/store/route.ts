/** The address of the page: a path and a query behind `#`. Each view can be restored from it. */
import { signal } from "@preact/signals";

export interface PageRoute {
  /** `["runs"]`, `["run", "local-…"]`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<PageRoute>(routeOf(location.hash));

addEventListener("hashchange", () => {
  route.value = routeOf(location.hash);
});

function routeOf(hash: string): PageRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.length === 0 ? ["runs"] : parts.map(decoded), query: new URLSearchParams(query) };
}

/** An address that a human has changed may not decode. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf(path: readonly string[], query?: URLSearchParams | Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** Changes the query of this page. `replace`: the step back of the browser does not stop here. */
export function setQuery(query: URLSearchParams): void {
  history.replaceState(null, "", hrefOf(route.value.path, query));
  route.value = { path: route.value.path, query };
}

export const go = (path: readonly string[], query?: URLSearchParams | Readonly<Record<string, string>>): void => {
  location.hash = hrefOf(path, query);
};
