import type { Command } from "commander";
import { createContext } from "../context.ts";
import type { Io } from "../io.ts";

export function addLogout(program: Command, io: Io): void {
  program
    .command("logout")
    .description("forget the stored server and key (the key itself stays valid)")
    .action(async (_options: unknown, command: Command) => {
      const { printer, config } = createContext(io, command);
      const wasLoggedIn = await config.remove();
      printer.result({ was_logged_in: wasLoggedIn }, () => (wasLoggedIn ? "Logged out." : "You were not logged in."));
    });
}
