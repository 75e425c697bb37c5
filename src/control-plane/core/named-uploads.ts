import { type AppFile, appFileSchema } from "../../protocol/apps/app-files.ts";
import type { FileUpload } from "../../protocol/apps/uploads.ts";
import type { Command } from "./command.ts";

export interface NamedUpload {
  /** Where the request names it. */
  readonly path: string;
  readonly upload: FileUpload;
}

/** Returns the uploads that a command names. */
export function uploadsOfCommand(command: Command): readonly NamedUpload[] {
  switch (command.action) {
    case "apply":
      return command.spec.apps.flatMap(({ app }, index) => uploadsOfFiles(app.files, `apps[${index}].app.`));
    case "deploy":
    case "update":
      return uploadsOfFiles((command.spec as { readonly files?: unknown }).files, "");
    case "update_agent":
    case "remove":
    case "stop":
    case "start":
    case "restart":
      return [];
  }
}

/** Returns the uploads that the files of an app name. @param prefix of their paths */
export function uploadsOfFiles(files: unknown, prefix: string): readonly NamedUpload[] {
  if (!Array.isArray(files)) return [];
  return files.flatMap((file: unknown, index) => {
    const parsed = appFileSchema.safeParse(file);
    const upload: AppFile["upload"] = parsed.success ? parsed.data.upload : undefined;
    return upload ? [{ path: `${prefix}files[${index}].upload`, upload }] : [];
  });
}

/** Returns the hashes of the uploads that a command names, each once. */
export function uploadHashes(command: Command): readonly string[] {
  return [...new Set(uploadsOfCommand(command).map(({ upload }) => upload.sha256))];
}
