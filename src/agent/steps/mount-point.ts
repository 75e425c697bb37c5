import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { LABELS } from "../core/app/container.ts";
import { needsUserFiles, ownerOf } from "../core/image/image-user.ts";
import type { ImagePath } from "../engine/engine.ts";
import type { ContainerStepContext } from "./context.ts";

/** What decides how a directory begins that is made for an app. */
export interface MountPoint {
  /** What the image has at the target; `undefined` if nothing. */
  readonly inImage: ImagePath | undefined;
  /** The user the app runs as. */
  readonly user: OwnerIds;
}

const USER_FILES = ["/etc/passwd", "/etc/group"];
const MAX_USER_FILE_BYTES = 65_536;

/** Reads what an app's image has where a volume is mounted. @param image reference or id of an image on the device */
export async function readMountPoint(
  { engine, config, signal }: Pick<ContainerStepContext, "engine" | "config" | "signal">,
  spec: AppSpec,
  image: string,
  target: string,
): Promise<MountPoint> {
  const user = spec.user ?? (await engine.inspectImage(image, signal))?.user ?? "";
  const paths = [normalizePath(target), ...(needsUserFiles(user) ? USER_FILES : [])];
  const request = { image, labels: helperLabelsOf(spec, config.stateDir), paths, maxBytes: MAX_USER_FILE_BYTES };
  const [inImage, passwd, group] = await engine.readImagePaths(request, signal);
  return { inImage, user: ownerOf(user, { passwd: textOf(passwd), group: textOf(group) }) };
}

/** Labels by which a helper that a crash left behind is known as the app's. */
export function helperLabelsOf({ name }: AppSpec, stateDir: string): Record<string, string> {
  return { [LABELS.app]: name, [LABELS.stateDir]: stateDir };
}

function textOf(file: ImagePath | undefined): string | undefined {
  return file?.content && Buffer.from(file.content).toString();
}
