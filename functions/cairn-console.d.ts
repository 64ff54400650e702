/** A module that `infra/bundle.ts` makes from the built console. It is large, and imported on use. */
declare module "cairn-console" {
  /** The files by their paths, such as `index.html`; empty if the deployment shows no console. All are text. */
  export const files: Readonly<Record<string, string>>;
}
