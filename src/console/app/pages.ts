import type { ComponentType } from "react";
import type { ConsolePath } from "../../protocol/console-paths.ts";
import type { IconName } from "../parts/icon.tsx";

/** A page of the console. Its module is loaded when it is opened. */
interface Page {
  readonly load: () => Promise<ComponentType>;
  /** Whether it is shown without a session. */
  readonly isPublic?: true;
  /** Permission without which it says that it may not be seen. */
  readonly permission?: string;
  /** Entry in the navigation, in the order of this table. */
  readonly navigation?: { readonly label: string; readonly icon: IconName };
}

/** All pages by their paths, which `protocol/console-paths.ts` lists for the server. */
export const PAGES: Readonly<Record<Exclude<ConsolePath, "/">, Page>> = {
  "/setup": { load: async () => (await import("../pages/set-up/set-up-page.tsx")).SetUpPage, isPublic: true },
  "/sign-in": { load: async () => (await import("../pages/sign-in/sign-in-page.tsx")).SignInPage, isPublic: true },
  "/overview": {
    load: async () => (await import("../pages/overview/overview-page.tsx")).OverviewPage,
    permission: "assets.read",
    navigation: { label: "Overview", icon: "overview" },
  },
};
