import type { ModuleImports } from "./imports.ts";

/** What the modules of one folder may import. The first part whose folder a module lies in decides. */
interface Part {
  readonly folder: string;
  /** Other folders of the project. */
  readonly mayImport: readonly string[];
  /** Packages it may import; without a list, any, and Node.js's own modules. */
  readonly packages?: readonly string[];
}

const PARTS: readonly Part[] = [
  { folder: "src/protocol/", mayImport: [], packages: ["zod"] },
  { folder: "src/lib/", mayImport: ["src/protocol/"] },
  { folder: "src/agent/core/", mayImport: ["src/protocol/"], packages: [] },
  { folder: "src/agent/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/control-plane/core/", mayImport: ["src/protocol/"], packages: [] },
  { folder: "src/control-plane/", mayImport: ["src/protocol/", "src/lib/"] },
  { folder: "src/edgectl/", mayImport: ["src/protocol/", "src/lib/"] },
];

/** Packages that one folder alone may know, so that another one can take their place. */
const OWNERS: Readonly<Record<string, string>> = {
  dockerode: "src/agent/engine/docker/",
  systeminformation: "src/agent/telemetry/",
};

/** Every folder a rule names. */
export const RULED_FOLDERS: readonly string[] = [
  ...PARTS.flatMap(({ folder, mayImport }) => [folder, ...mayImport]),
  ...Object.values(OWNERS),
];

/** The ways in which a module of src/ breaks the layout's rules, one sentence each. */
export function violations({ path, files, packages }: ModuleImports): string[] {
  const part = PARTS.find(({ folder }) => path.startsWith(folder));
  if (!part) return [`${path} lies in no folder of the layout`];
  const reachable = [part.folder, ...part.mayImport];
  return [
    ...files.filter((file) => !reachable.some((folder) => file.startsWith(folder))),
    ...packages.filter((name) => part.packages?.includes(name) === false),
    ...packages.filter((name) => OWNERS[name] !== undefined && !path.startsWith(OWNERS[name])),
  ].map((target) => `${path} must not import ${target}`);
}
