import { z } from "zod";
import { absolutePath, mountTarget } from "../values/absolute-path.ts";
import { normalizePath } from "../values/normalize-path.ts";

/*
 * An entry of `volumes`: a path of the device (`local`), a volume that the agent manages (`name`), or one of the engine that it
 * does not (`external`).
 */

/** The largest id: the one above it stands for "no change" in system calls. */
const MAX_ID = 2 ** 32 - 2;
const MAX_OWNER_LENGTH = 21;
const OWNER = /^(\d{1,10})(?::(\d{1,10}))?$/;

/** Numeric owner of a file. */
export interface OwnerIds {
  readonly uid: number;
  readonly gid: number;
}

/** Parses `UID[:GID]`; the group is root's if it is omitted, as with an engine's `user`. `undefined` if it is neither. */
export function parseOwner(text: string): OwnerIds | undefined {
  const [, uid, gid = "0"] = OWNER.exec(text) ?? [];
  if (uid === undefined) return undefined;
  const ids = { uid: Number(uid), gid: Number(gid) };
  return ids.uid <= MAX_ID && ids.gid <= MAX_ID ? ids : undefined;
}

export const volumeName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, '_', '.' or '-', beginning with a letter or digit",
  );

const externalName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$/,
    "must be 1 to 255 letters, digits, '_', '.' or '-', beginning with a letter or digit",
  );

export const owner = z
  .string()
  .max(MAX_OWNER_LENGTH)
  .refine((text) => parseOwner(text) !== undefined, `must be UID or UID:GID, each a number from 0 to ${MAX_ID}`);

const MAX_SUBPATH_LENGTH = 1024;

/** Engines take `..` and links as long as they stay in the volume. Without them, one directory has one name. */
const subpath = z
  .string()
  .max(MAX_SUBPATH_LENGTH)
  .refine(
    (path) => path.split("/").every((segment) => !["", ".", ".."].includes(segment)) && !/\p{Cc}/u.test(path),
    "must be a path in the volume, such as conf/site, without . and .., and with no / at either end",
  );

/** A path of the device in the container. */
export interface Bind {
  readonly local: string;
  readonly target: string;
  readonly readonly: boolean;
  readonly owner?: string;
}

/** A volume that the agent manages, in the container. */
export interface NamedVolume {
  readonly name: string;
  readonly target: string;
  readonly readonly: boolean;
  readonly owner?: string;
  readonly nocopy?: boolean;
  readonly shared?: boolean;
  /** Directory in the volume that is mounted in its place. */
  readonly subpath?: string;
}

/** A volume of the engine that the agent neither makes nor removes, in the container. */
export interface ExternalVolume {
  /** The engine's name of it. */
  readonly external: string;
  readonly target: string;
  readonly readonly: boolean;
  readonly nocopy?: boolean;
  readonly subpath?: string;
}

export type VolumeEntry = Bind | NamedVolume | ExternalVolume;

/** The same as in a request, where `readonly` may be omitted. */
type VolumeInput = WithoutDefaults<Bind> | WithoutDefaults<NamedVolume> | WithoutDefaults<ExternalVolume>;
type WithoutDefaults<T extends VolumeEntry> = Omit<T, "readonly"> & { readonly readonly?: boolean };

/** One object with all alternatives, so that an error names the field and not an alternative. */
const entry = z
  .strictObject({
    local: absolutePath.exactOptional().meta({
      description:
        "Path on the device. A directory that does not exist is made. One of `local`, `name` and `external` is required.",
      examples: ["/var/lib/node-red"],
    }),
    name: volumeName.exactOptional().meta({
      description:
        "Name of a volume that the agent manages, instead of `local`. It begins with what the image has at `target`, and " +
        "stays when the app is removed. Several apps may use it if at most one may write to it, or if it is `shared`.",
      examples: ["node-red-data"],
    }),
    external: externalName.exactOptional().meta({
      description:
        "The engine's name of a volume that is on the device already, instead of `local`, such as one of a tool that the agent " +
        "replaces. The agent neither makes nor removes it, and other containers may write to it. The device must allow it in " +
        "`policy.external_volumes.allow`.",
      examples: ["grafana-storage"],
    }),
    target: mountTarget.meta({ description: "Path in the container.", examples: ["/data"] }),
    readonly: z.boolean().default(false).meta({ description: "Whether the app may only read there." }),
    owner: owner.exactOptional().meta({
      description:
        "Owner of the directory if it is made for this app, `UID` or `UID:GID`. One that exists keeps its owner. By " +
        "default the owner that the image has at `target`, or the user the app runs as.",
      examples: ["1000:1000"],
    }),
    nocopy: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether a volume by `name` begins empty, without what the image has at `target`, and an empty one by `external` stays " +
          "so; `false` by default.",
      }),
    shared: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether other apps may write to the volume by `name` too: those that say so as well. Nothing keeps them from " +
          "overwriting each other's files. `false` by default.",
      }),
    subpath: subpath.exactOptional().meta({
      description:
        "Directory in the volume by `name` or `external` that is mounted in its place. It has to be there: neither the engine nor " +
        "the agent makes it. Docker 26 and later only.",
      examples: ["conf/site"],
    }),
  })
  .superRefine(({ local, name, external, target, owner: asked, nocopy, shared, subpath: part }, context) => {
    const issue = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    if (local === undefined && name === undefined && external === undefined) {
      issue("local", "is missing: give a path of the device, or `name` for a volume that the agent manages");
    }
    if (local !== undefined && name !== undefined) issue("name", "must not be given together with `local`");
    if (external !== undefined && (local ?? name) !== undefined)
      issue("external", "must not be given together with `local` or `name`");
    if (external !== undefined && asked !== undefined) issue("owner", "is for a directory that is made for the app");
    if (local !== undefined && nocopy === true) issue("nocopy", "is for a volume by `name` or `external`");
    if (local !== undefined && part !== undefined) issue("subpath", "is for a volume by `name` or `external`");
    if (name === undefined && shared === true) issue("shared", "is for a volume by `name`");
    if (normalizePath(target) === "/proc" && (local === undefined || normalizePath(local) !== "/proc")) {
      issue("target", "must not be /proc, which is the kernel's");
    }
  })
  .meta({ id: "Volume" });

/** Its check leaves exactly one of `local`, `name` and `external`, which its type says. */
export const volume = entry as unknown as z.ZodType<VolumeEntry, VolumeInput>;

interface HasVolumes {
  readonly volumes: readonly VolumeEntry[];
}

/** Returns the paths of the device that an app mounts, in the order of its volumes. */
export function bindsOf({ volumes }: HasVolumes): Bind[] {
  return volumes.filter((volume): volume is Bind => "local" in volume);
}

/** Returns the volumes of an app that the agent manages, in the order of its volumes. */
export function namedVolumesOf({ volumes }: HasVolumes): NamedVolume[] {
  return volumes.filter((volume): volume is NamedVolume => "name" in volume);
}

/** Returns the volumes of an app that the engine has and the agent does not manage, in the order of its volumes. */
export function externalVolumesOf({ volumes }: HasVolumes): ExternalVolume[] {
  return volumes.filter((volume): volume is ExternalVolume => "external" in volume);
}
