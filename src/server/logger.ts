/** What the server says about itself, as far as it needs a logger; pino fits. */
export interface Logger {
  isLevelEnabled(level: 'debug'): boolean;
  debug(fields: object, says: string): void;
  info(fields: object, says: string): void;
  warn(fields: object, says: string): void;
  error(fields: object, says: string): void;
}
