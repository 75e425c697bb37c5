/** A fenced tree of folders, of which `architecture.md` has one: a line names what lies in the folder that is less indented. */
export function foldersOfTree(tree: string): string[] {
  const folders: string[] = [];
  let open: { readonly indent: number; readonly path: string }[] = [];
  for (const line of tree.split("\n")) {
    const [, spaces = "", names = ""] = /^( *)((?:[\w-]+\/ ?)+)/.exec(line) ?? [];
    if (names === "") continue;
    open = open.filter(({ indent }) => indent < spaces.length);
    const parent = open.at(-1)?.path ?? "";
    const paths = names
      .trim()
      .split(" ")
      .map((name) => parent + name);
    folders.push(...paths);
    open.push({ indent: spaces.length, path: paths.at(-1) ?? "" });
  }
  return folders;
}

/**
 * Returns the files and folders of the project that inline code of a Markdown text names: sources and pages by the end of
 * their path (`core/fleets/judge.ts`), folders with a `/` at the end, and whatever begins in a folder of the root.
 */
export function pathsNamedIn(markdown: string): string[] {
  const text = markdown.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1/gm, "");
  const names = [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);
  return names.filter((name) => SOURCE.test(name) || FOLDER.test(name) || OF_ROOT.test(name));
}

const SOURCE = /^\w[\w./-]*\.(?:tsx?|mjs|md)$/;
const FOLDER = /^(?:[\w-]+\/)+$/;
const OF_ROOT = /^(?:src|test|scripts|docs|packaging|examples|systemd|man)\/[\w./-]*$/;
