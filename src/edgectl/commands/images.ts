import type { Command } from "commander";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { renderImageIndexes, renderUpdateCost, shortDigest } from "../views/image-view.ts";
import { createContext } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import { explainUpdate } from "../images/explain-update.ts";
import { indexImages } from "../images/index-image.ts";
import type { Io } from "../io.ts";
import { readImages, selectPlatform } from "../registry/images.ts";
import { openSessions, type RegistryOptions } from "../registry/session.ts";
import { REGISTRY_HELP, registryOptions } from "./registry-options.ts";

interface IndexOptions extends RegistryOptions {
  readonly platform?: string;
  readonly force?: boolean;
}

interface ExplainOptions extends RegistryOptions {
  readonly platform?: string;
  readonly all?: boolean;
}

export function addImagesIndex(images: Command, io: Io): void {
  registryOptions(images.command("index"))
    .description("write an index beside an image in its registry, so that devices fetch only what an update changes")
    .argument("<image>", "reference of the image; of a list of platforms, each one gets an index")
    .option("--platform <platform>", "only this platform, such as linux/arm64")
    .option("--force", "write an index also where there is one")
    .addHelpText("after", REGISTRY_HELP)
    .action(async (reference: string, options: IndexOptions, command: Command) => {
      const { printer } = createContext(io, command);
      const [session] = await openSessions([reference], options, io);
      if (!session) throw new TypeError("there is a session for each reference");
      const indexes = await indexImages({
        session,
        images: selectPlatform(await readImages(session), options.platform, reference),
        mustWrite: options.force ?? false,
        now: () => io.clock.now(),
        onLayer: ({ digest, size }) => {
          if (!printer.json) printer.note(`Reading layer ${shortDigest(digest)}, ${formatBytes(size)}.`);
        },
      });
      printer.result({ image: reference, indexes }, () => renderImageIndexes(indexes, printer.theme, printer.width));
    });
}

export function addImagesExplain(images: Command, io: Io): void {
  registryOptions(images.command("explain"))
    .description("show what an update from one image to another costs a device, file by file, and why")
    .argument("<old>", "reference of the image that the device has")
    .argument("<new>", "reference of the image that it would get")
    .option(
      "--platform <platform>",
      "platform of the device, such as linux/arm64; the first that both have if not given",
    )
    .option("--all", "every file that is fetched, not only the largest")
    .addHelpText("after", REGISTRY_HELP)
    .action(async (old: string, next: string, options: ExplainOptions, command: Command) => {
      const { printer } = createContext(io, command);
      const [oldSession, newSession] = await openSessions([old, next], options, io);
      if (!oldSession || !newSession) throw new TypeError("there is a session for each reference");
      const before = selectPlatform(await readImages(oldSession), options.platform, old);
      const after = selectPlatform(await readImages(newSession), options.platform, next);
      const pair = after.flatMap((image) => {
        const same = before.find(({ platform }) => platform === image.platform);
        return same ? [{ before: same, after: image }] : [];
      })[0];
      if (!pair) throw new Failure("The two images have no platform in common.", { exitCode: EXIT.usage });
      const cost = await explainUpdate({
        before: { session: oldSession, image: pair.before },
        after: { session: newSession, image: pair.after },
      });
      printer.result({ old, new: next, ...cost }, () => {
        return renderUpdateCost(cost, { theme: printer.theme, width: printer.width, isAll: options.all ?? false });
      });
    });
}
