import { busyboxLayer } from "../busybox.ts";
import { debianLayer } from "../debian.ts";
import { buildImage, type FileEntry, fileLayer, type Image, type ImageConfig, type Layer } from "../image.ts";

/** A user of an image, as which its programs run. */
export interface ImageUser {
  readonly name: string;
  readonly uid: number;
}

export interface AppImage {
  readonly user: ImageUser;
  /** Debian packages with the app and the libraries it loads. */
  readonly packages: readonly string[];
  /** Files of the packages that are left out, by path. */
  readonly leftOut?: RegExp;
  readonly layers?: readonly Layer[];
  readonly files: readonly FileEntry[];
  readonly config: ImageConfig;
}

const SHELL_PROGRAMS = [
  "sh",
  "cat",
  "chmod",
  "date",
  "echo",
  "env",
  "id",
  "ls",
  "mkdir",
  "printf",
  "rm",
  "sleep",
  "test",
];

/** Builds an image of an app from Debian's packages: its user, its directories and a shell, as published images have. */
export async function buildAppImage({ user, packages, leftOut, layers = [], files, config }: AppImage): Promise<Image> {
  const { name, uid } = user;
  const own = await fileLayer([
    { path: "etc/passwd", content: `root:x:0:0:root:/root:/bin/sh\n${name}:x:${uid}:${uid}:${name}:/:/bin/sh\n` },
    { path: "etc/group", content: `root:x:0:\n${name}:x:${uid}:\n` },
    ...files,
  ]);
  const base = [await debianLayer(packages, leftOut), await busyboxLayer(SHELL_PROGRAMS)];
  // Of two variables with one name, programs see the first.
  const hasPath = config.Env?.some((variable) => variable.startsWith("PATH=")) === true;
  const Env = [...(hasPath ? [] : ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin"]), ...(config.Env ?? [])];
  return buildImage([...base, ...layers, own], { User: String(uid), ...config, Env });
}

/** A directory that belongs to the user. */
export function ownDirectory({ uid }: ImageUser, path: string, mode: number = 0o755): FileEntry {
  return { path: `${path}/`, directory: true, mode, uid, gid: uid };
}
