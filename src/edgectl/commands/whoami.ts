import type { Command } from "commander";
import { listAssets } from "../api/assets.ts";
import { createClient, createContext, loadLogin } from "../context.ts";
import type { Io } from "../io.ts";
import { renderFields } from "../../lib/terminal/table.ts";

export function addWhoami(program: Command, io: Io): void {
  program
    .command("whoami")
    .description("show which server is used, and whether it accepts the key")
    .action(async (_options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const session = await loadLogin(context);
      await listAssets(createClient(io, session), { limit: 1 });
      const { url, urlFrom, keyFrom } = session;
      printer.result({ url, url_from: urlFrom, key_from: keyFrom, key_accepted: true }, () =>
        renderFields(
          [
            ["Server", `${url} (from ${urlFrom})`],
            ["API key", `accepted (from ${keyFrom})`],
          ],
          printer.theme,
        ),
      );
    });
}
