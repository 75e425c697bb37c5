import { type Command, Option } from "commander";
import { assetStatusSchema } from "../../protocol/asset.ts";
import { type AssetQuery, listAssets } from "../api/assets.ts";
import { fetchPages } from "../api/paging.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderAssets } from "../views/asset-view.ts";
import { wholeNumber } from "./options.ts";

interface ListOptions {
  readonly status?: string;
  readonly type?: string;
  readonly q?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly all?: boolean;
}

const MAX_PAGE_SIZE = 200;

export function addAssetsList(assets: Command, io: Io): void {
  assets
    .command("list")
    .description("list the assets of your account")
    .addOption(new Option("--status <status>", "only those with this status").choices(assetStatusSchema.options))
    .option("--type <type>", "only those of this type")
    .option("--q <text>", "only those with this text in the name or serial number")
    .option("--limit <n>", `how many at most, 1 to ${MAX_PAGE_SIZE} (50 if not given)`, wholeNumber(1, MAX_PAGE_SIZE))
    .option("--cursor <cursor>", "go on where an earlier list ended")
    .option("--all", "all of them, however many")
    .action(async (options: ListOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const { status, type, q, all = false } = options;
      const limit = options.limit ?? (all ? MAX_PAGE_SIZE : undefined);
      const { items, next } = await fetchPages(
        async (cursor) => {
          const query: AssetQuery = { status, type, q, limit, cursor };
          const page = await listAssets(client, query);
          return { items: page.assets, next: page.next_cursor };
        },
        { cursor: options.cursor, all },
      );
      printer.result({ assets: items, next_cursor: next }, () => renderAssets(items, printer.theme, printer.width));
      if (next !== null && !printer.json)
        printer.note(`There are more. All of them: --all. The next ones: --cursor ${next}`);
    });
}
