import { ActionIcon, Group, NativeSelect, Stack, Text, useMantineColorScheme } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { Navigate, NavLink, Outlet, useLocation } from "react-router";
import { StaleBanner } from "../parts/stale-banner.tsx";
import publicClasses from "./public-frame.module.css";
import { SessionContext, useSession, useSessionQuery } from "../api/session.ts";
import { Icon } from "../parts/icon.tsx";
import { PendingButton } from "../parts/form.tsx";
import { SafeText } from "../parts/safe-text.tsx";
import navigationClasses from "./navigation.module.css";
import { AlertBell, AlertCount } from "./alert-bell.tsx";
import { PAGES } from "./pages.ts";
import { useSignOut } from "../session/use-sign-out.ts";
import { Dialog } from "../parts/dialog.tsx";
import shellClasses from "./shell.module.css";
import { useQueryClient } from "@tanstack/react-query";
import { toFailure } from "../api/failure.ts";
import { KEYS } from "../api/keys.ts";
import type { Session } from "../../protocol/api-types.ts";
import { identityOf, onSessionChanged } from "../api/session-change.ts";
import { followAccount, type Position } from "../live/account-stream.ts";
import { eventHandler } from "../live/events.ts";
import { whileVisible } from "../live/while-visible.ts";
import { FailureNote } from "../parts/failure-note.tsx";
import { Loading } from "../parts/loaded.tsx";

const SCHEMES = [
  { value: "auto", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

function ColorSchemeSelect(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <NativeSelect
      size="xs"
      label="Colours"
      data={SCHEMES}
      value={colorScheme}
      onChange={({ currentTarget }) => setColorScheme(currentTarget.value as (typeof SCHEMES)[number]["value"])}
    />
  );
}

function Logo(): ReactNode {
  return (
    <Group gap="xs" wrap="nowrap">
      <svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true">
        <rect width="16" height="16" rx="3" fill="#1864ab" />
        <path d="M4 5h8M4 8h5M4 11h8" stroke="#fff" strokeWidth="1.6" strokeLinecap="round" />
      </svg>
      <Text fw={600} size="lg" style={{ whiteSpace: "nowrap" }}>
        edge-control
      </Text>
    </Group>
  );
}

/** Frame of the pages that are shown without a session. */
export function PublicFrame(): ReactNode {
  return (
    <div className={publicClasses.frame}>
      <StaleBanner />
      <main className={publicClasses.main}>
        <Logo />
        <Outlet />
      </main>
      <footer className={publicClasses.footer}>
        <ColorSchemeSelect />
      </footer>
    </div>
  );
}

/** The account, the pages that the person may see, and the person. */
function Navigation({ onNavigate }: { readonly onNavigate?: () => void }): ReactNode {
  const { account, principal, role, permissions } = useSession();
  const signOut = useSignOut();
  const entries = Object.entries(PAGES).filter(
    ([, page]) => page.permission === undefined || permissions.includes(page.permission),
  );
  return (
    <div className={navigationClasses.navigation}>
      <Text size="sm" fw={600} className={navigationClasses.account}>
        <SafeText text={account.name} />
      </Text>
      <nav aria-label="Pages">
        <ul className={navigationClasses.list}>
          {entries.map(
            ([path, { navigation }]) =>
              navigation && (
                <li key={path}>
                  <NavLink to={path} className={navigationClasses.link ?? ""} onClick={onNavigate}>
                    <Icon name={navigation.icon} />
                    {navigation.label}
                    {path === "/alerts" && <AlertCount />}
                  </NavLink>
                </li>
              ),
          )}
        </ul>
      </nav>
      <Stack gap="xs" className={navigationClasses.person}>
        <div>
          <Text size="sm" fw={600}>
            <SafeText text={principal.name} />
          </Text>
          <Text size="xs" c="dimmed">
            {role}
          </Text>
        </div>
        <PendingButton variant="default" size="xs" loading={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out
        </PendingButton>
        <ColorSchemeSelect />
      </Stack>
    </div>
  );
}

/** Navigation and content. On a narrow screen the navigation is a drawer. */
function Shell(): ReactNode {
  const { account } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={shellClasses.shell}>
      <a className={shellClasses.skip} href="#content">
        Skip to the content
      </a>
      <header className={shellClasses.header}>
        <ActionIcon variant="subtle" size="lg" aria-label="Open the navigation" onClick={() => setOpen(true)}>
          <Icon name="menu" />
        </ActionIcon>
        <Logo />
        <Text size="sm" c="dimmed" truncate>
          <SafeText text={account.name} />
        </Text>
        <AlertBell />
      </header>
      <aside className={shellClasses.sidebar}>
        <Logo />
        <Navigation />
      </aside>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} label="Navigation" kind="drawer">
        <Navigation onNavigate={() => setOpen(false)} />
      </Dialog>
      <main id="content" className={shellClasses.main} tabIndex={-1}>
        <StaleBanner />
        <Outlet />
      </main>
    </div>
  );
}

/** Frame of the pages that need a session: looks who is signed in, and follows the account's events. */
export function SessionFrame(): ReactNode {
  const { data, error, refetch } = useSessionQuery();
  const { pathname, search } = useLocation();
  const failure = error && toFailure(error);
  useOtherTabs();
  useAccountEvents(data && failure?.status !== 401 ? identityOf(data) : undefined);
  if (failure?.status === 401) {
    const next = pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    return <Navigate to={`/sign-in${next}`} replace />;
  }
  if (data)
    return (
      // Another person begins anew: an open dialog must not be carried out in the other account.
      <SessionContext key={identityOf(data)} value={data}>
        <Shell />
      </SessionContext>
    );
  return (
    <main>
      <StaleBanner />
      {failure ? <FailureNote failure={failure} onRetry={() => void refetch()} /> : <Loading />}
    </main>
  );
}

/** What another tab has signed in or out is not shown, nor carried on with, until it is known who is signed in. */
function useOtherTabs(): void {
  const client = useQueryClient();
  useEffect(
    () =>
      onSessionChanged(() => {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEYS.session[0] });
        client.getMutationCache().clear();
        void client.resetQueries({ queryKey: KEYS.session });
      }),
    [client],
  );
}

/** Follows the events as one person: another's stream does not go on where this one's was. */
function useAccountEvents(identity: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (identity === undefined) return undefined;
    const handlers = {
      onEvent: eventHandler(client),
      onReset: () => void client.invalidateQueries(),
      onSignedOut: () => void client.invalidateQueries({ queryKey: KEYS.session }),
      mayResume: async () => {
        // Without an answer the session is taken for what it was: the stream is refused if it is not.
        await client.refetchQueries({ queryKey: KEYS.session });
        const session = client.getQueryData<Session>(KEYS.session);
        return session === undefined || identityOf(session) === identity;
      },
    };
    const position: Position = {};
    return whileVisible((signal) => void followAccount(handlers, position, signal));
  }, [client, identity]);
}
