// Where a server may listen: without tokens on this machine only, with them anywhere.
import { describe, expect, it } from 'vitest';
import { AccessControl } from './access-control.ts';

const TOKENS = [{ token: 'secret-of-16-byte', scopes: ['*'] }];

describe('a door', () => {
  it.each(['127.0.0.1', '127.8.9.10', 'localhost', '::1', '[::1]'])('opens on %s without tokens', (host) => {
    expect(() => new AccessControl({}).assertMayListenOn(host)).not.toThrow();
    expect(() => new AccessControl({ tokens: TOKENS }).assertMayListenOn(host)).not.toThrow();
  });

  it.each(['0.0.0.0', '::', '192.168.1.5', 'example.org'])('opens on %s only with tokens', (host) => {
    expect(() => new AccessControl({}).assertMayListenOn(host)).toThrow(/Without tokens/);
    expect(() => new AccessControl({ allowNets: ['10.0.0.0/8'] }).assertMayListenOn(host)).toThrow(
      /Without tokens/,
    );
    expect(() => new AccessControl({ tokens: TOKENS }).assertMayListenOn(host)).not.toThrow();
  });
});
