// Whether Trino's own parser takes queries: java -cp CLASSPATH Grammar.java FILE... One line for each query that it refuses; the exit
// code is then 1.

import io.trino.sql.parser.ParsingException;
import io.trino.sql.parser.SqlParser;
import io.trino.sql.tree.CreateTable;
import io.trino.sql.tree.CreateView;
import io.trino.sql.tree.Query;
import io.trino.sql.tree.Statement;
import java.nio.file.Files;
import java.nio.file.Path;

public class Grammar {
    public static void main(String[] files) throws Exception {
        boolean refused = false;
        for (String file : files) {
            try {
                Statement statement = new SqlParser().createStatement(Files.readString(Path.of(file)));
                if (!(statement instanceof Query || statement instanceof CreateView || statement instanceof CreateTable)) {
                    throw new IllegalArgumentException("it is no query");
                }
            } catch (ParsingException | IllegalArgumentException error) {
                System.out.println(file + ": " + error.getMessage());
                refused = true;
            }
        }
        System.exit(refused ? 1 : 0);
    }
}
